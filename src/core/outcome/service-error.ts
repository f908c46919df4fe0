/** What can go wrong at the remote service, sorted by what the engine does about it (failure table, DESIGN 4). */
export type ServiceFailure =
  /** 400/422 on create: this type or request is not accepted. */
  | 'rejected'
  /** 401/403 on base_url. */
  | 'unauthorized'
  /** 404/410. */
  | 'not_found'
  /** 413 or EntityTooLarge at the storage. */
  | 'too_large'
  /** A presigned address that is no longer valid (403 with an XML body). */
  | 'expired'
  /** Refused on this side: an address, a size or an encoding that `service.transfer` does not allow. The other side can do nothing. */
  | 'blocked'
  /** 429, 5xx, timeouts, resets: retries inside the client are used up; try again later. */
  | 'unavailable'
  /** The answer was not what the interface promises (not JSON, no id, body cut). */
  | 'protocol';

/** Statuses that refuse what was sent or asked for. Other refusals, such as a wrong method or media type, say nothing about it. */
export const REFUSES_INPUT: ReadonlySet<number> = new Set([400, 414, 422]);

export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly failure: ServiceFailure;
  /** create_batch, get_batch, upload, download, … : the label of metrics. */
  readonly operation: string;
  /** HTTP status, when there was an answer. */
  readonly status: number | undefined;
  /** Earliest sensible next try, when the service said so (Retry-After), ms from the answer. */
  readonly retryAfterMs: number | undefined;
  /** Of an upload: the answer to one of its tries was lost, so the file may be there whatever the last answer was. */
  readonly mayHaveArrived: boolean;
  /** Of a download: doing it again would bring the same. */
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
}
