/** What the client throws, beside the signal's reason when aborted. Messages hold no content, key or presigned query. */
import { ServiceError, type ServiceFailure } from '../core/outcome/service-error.ts';

export type { ServiceFailure };

/** Everything below is one of these. */
export class ContentReviewError extends Error {
  override readonly name: string = 'ContentReviewError';
}

/** The service, the storage behind a presigned address or the network refused, failed or made no sense. */
export class RequestError extends ContentReviewError {
  override readonly name: string = 'RequestError';
  readonly failure: ServiceFailure;
  /** create_batch, get_batch, create_import, get_import, get_decision, upload or download. */
  readonly operation: string;
  /** HTTP status, when there was an answer. */
  readonly status: number | undefined;
  /** Earliest sensible next try, when the service said so (Retry-After), in ms from its answer. */
  readonly retryAfterMs: number | undefined;

  constructor(error: ServiceError) {
    super(error.message);
    this.failure = error.failure;
    this.operation = error.operation;
    this.status = error.status;
    this.retryAfterMs = error.retryAfterMs;
  }
}

/** The same request will fail again. */
export class RejectedError extends RequestError {
  override readonly name = 'RejectedError';
}

/** 401 or 403 at the service, or no usable API key. */
export class UnauthorizedError extends RequestError {
  override readonly name = 'UnauthorizedError';
}

/** 404 or 410. */
export class NotFoundError extends RequestError {
  override readonly name = 'NotFoundError';
}

/** The upload is larger than the storage takes. */
export class TooLargeError extends RequestError {
  override readonly name = 'TooLargeError';
}

/** The presigned address is no longer valid: create or get anew. */
export class ExpiredError extends RequestError {
  override readonly name = 'ExpiredError';
}

/** Refused on this side, by the options about hosts, addresses and sizes: the other side can do nothing. */
export class BlockedError extends RequestError {
  override readonly name = 'BlockedError';
}

/** 429, 5xx, timeouts, resets: what may pass. The client has already tried again. */
export class UnavailableError extends RequestError {
  override readonly name = 'UnavailableError';
}

/** The answer, or the result file, is not what the interface promises. */
export class ProtocolError extends RequestError {
  override readonly name = 'ProtocolError';
}

/** A `waitFor` did not see the end in its time. Waiting again goes on where this one stopped. */
export class WaitTimeoutError extends ContentReviewError {
  override readonly name = 'WaitTimeoutError';
  readonly id: string;
  /** As the service last spelled it; undefined when it was never asked in time. */
  readonly lastStatus: string | undefined;

  constructor(id: string, lastStatus: string | undefined, timeoutMs: number) {
    const last = lastStatus === undefined ? '' : `: the last status was ${lastStatus.slice(0, 64)}`;
    super(`not finished after ${timeoutMs} ms${last}`);
    this.id = id;
    this.lastStatus = lastStatus;
  }
}

/** Results were asked of a batch that has none, or none yet. */
export class NoResultsError extends ContentReviewError {
  override readonly name = 'NoResultsError';
  readonly batchId: string;
  /** As the service spells it. */
  readonly batchStatus: string;

  constructor(batchId: string, batchStatus: string) {
    super(`the batch has no results: its status is ${batchStatus.slice(0, 64)}`);
    this.batchId = batchId;
    this.batchStatus = batchStatus;
  }
}

const BY_FAILURE: Readonly<Record<ServiceFailure, new (error: ServiceError) => RequestError>> = {
  rejected: RejectedError,
  unauthorized: UnauthorizedError,
  not_found: NotFoundError,
  too_large: TooLargeError,
  expired: ExpiredError,
  unavailable: UnavailableError,
  blocked: BlockedError,
  protocol: ProtocolError,
};

/** The public error for what the layers below throw; anything else as it is. */
export function publicError(error: unknown): unknown {
  return error instanceof ServiceError ? new BY_FAILURE[error.failure](error) : error;
}

/** Settles as `work` does, with public errors. */
export async function withPublicErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw publicError(error);
  }
}
