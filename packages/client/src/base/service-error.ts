/** Failures of calls to the service, grouped by the reaction (failure-table.ts). */
export type ServiceFailure =
  /** 400, 422 on create: this type or request is not accepted. */
  | 'rejected'
  /** 401/403 on baseUrl. */
  | 'unauthorized'
  /** 404/410. */
  | 'not_found'
  /** 413 or EntityTooLarge at the storage. */
  | 'too_large'
  /** An expired presigned address (403 with an XML body). */
  | 'expired'
  /**
   * Refused by the connector: an address, a size or an encoding that `service.transfer` does not
   * allow.
   */
  | 'blocked'
  /** 429, 5xx, timeouts, resets, after the retries of the client. */
  | 'unavailable'
  /** The answer violates the API contract (not JSON, no id, body cut). */
  | 'protocol';

/** Statuses that refuse the input itself; others, such as a wrong method, do not concern it. */
export const REFUSES_INPUT: ReadonlySet<number> = new Set([400, 414, 422]);

export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly failure: ServiceFailure;
  /** Name of the operation in metrics: create_batch, get_batch, upload, download, … */
  readonly operation: string;
  /** HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** Shortest wait that the service requires (Retry-After), ms from the answer. */
  readonly retryAfterMs: number | undefined;
  /** True for an upload of which an answer was lost: the file may have arrived. */
  readonly mayHaveArrived: boolean;
  /** True for a download whose repetition would have the same result. */
  readonly sameAgain: boolean;
  constructor(
    failure: ServiceFailure,
    message: string,
    details: {
      operation: string;
      status?: number | undefined;
      retryAfterMs?: number | undefined;
      mayHaveArrived?: boolean | undefined;
      sameAgain?: boolean | undefined;
      cause?: unknown;
    },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.failure = failure;
    this.operation = details.operation;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.mayHaveArrived = details.mayHaveArrived ?? false;
    this.sameAgain = details.sameAgain ?? false;
  }

  /** Returns the same error with another message. */
  restated(message: string): ServiceError {
    return new ServiceError(this.failure, message, this);
  }
}
