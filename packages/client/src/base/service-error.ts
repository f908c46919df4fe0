/** Failures of calls to the service, grouped by the reaction that they require (failure-table.ts). */
export type ServiceFailure =
  /** 400 or 422 on create: the service does not accept this type or request. */
  | 'rejected'
  /** 401 or 403 at baseUrl. */
  | 'unauthorized'
  /** 404/410. */
  | 'not_found'
  /** 413, or EntityTooLarge from the storage. */
  | 'too_large'
  /** Expired presigned address (403 with an XML body). */
  | 'expired'
  /** Refused by this client, because `service.transfer` does not allow the address, size or encoding. */
  | 'blocked'
  /** 429, 5xx, timeout or reset, after the client's retries. */
  | 'unavailable'
  /** The response violates the API contract (not JSON, no id, truncated body). */
  | 'protocol';

/** Statuses by which the service rejects the input itself. Others, such as 405, do not depend on the input. */
export const REFUSES_INPUT: ReadonlySet<number> = new Set([400, 414, 422]);

export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly failure: ServiceFailure;
  /** Name of the operation in metrics: create_batch, get_batch, upload, download, … */
  readonly operation: string;
  /** HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** Minimum wait that the service requires (Retry-After), in ms from the response. */
  readonly retryAfterMs: number | undefined;
  /** True for an upload whose response was lost, so that the file may have arrived. */
  readonly mayHaveArrived: boolean;
  constructor(
    failure: ServiceFailure,
    message: string,
    details: {
      operation: string;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
      mayHaveArrived?: boolean | undefined;
      cause?: unknown;
    },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.failure = failure;
    this.operation = details.operation;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.mayHaveArrived = details.mayHaveArrived ?? false;
  }

  /** Returns a copy of this error with another message. */
  restated(message: string): ServiceError {
    return new ServiceError(this.failure, message, this);
  }
}
