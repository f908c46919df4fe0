/** Errors of the client, beside the reason of a signal. No message holds content, a key or a presigned query. */
import type { ServiceError, ServiceFailure } from './base/service-error.ts';

export type { ServiceFailure };

/** Base class of all errors of the client. */
export class ContentReviewError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** Failed request to the service, or to the storage at a presigned address. */
export class RequestError extends ContentReviewError {
  readonly failure: ServiceFailure;
  /** `create_batch`, `get_batch`, `create_import`, `get_import`, `get_decision`, `upload` or `download`. */
  readonly operation: string;
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** Retry-After of the response, in ms from its arrival. */
  readonly retryAfterMs: number | undefined;
  /** True for an upload one of whose attempts got no response: the file may be in the storage, whatever the last response was. */
  readonly mayHaveArrived: boolean;

  constructor(error: ServiceError) {
    super(error.message);
    this.failure = error.failure;
    this.operation = error.operation;
    this.status = error.status;
    this.retryAfterMs = error.retryAfterMs;
    this.mayHaveArrived = error.mayHaveArrived;
  }
}

/** Rejected request: the same request will fail again. */
export class RejectedError extends RequestError {}

/** 401 or 403 from the service, or no usable API key. */
export class UnauthorizedError extends RequestError {}

/** 404 or 410. */
export class NotFoundError extends RequestError {}

/** Upload that exceeds the limit of the storage. */
export class TooLargeError extends RequestError {}

/** Presigned address that has expired: create or get the resource again. */
export class ExpiredError extends RequestError {}

/** Request refused by the client's own options about hosts, addresses and sizes. */
export class BlockedError extends RequestError {}

/** 429, 5xx, timeout or reset that outlasted the retries. */
export class UnavailableError extends RequestError {}

/** Response or result file that violates the protocol. */
export class ProtocolError extends RequestError {}

/** Timeout of a `waitFor`. Another `waitFor` continues the wait. */
export class WaitTimeoutError extends ContentReviewError {
  readonly id: string;
  /** Last status, as the service spells it; undefined when there was no response in time. */
  readonly lastStatus: string | undefined;

  constructor(id: string, lastStatus: string | undefined, timeoutMs: number) {
    const last = lastStatus === undefined ? '' : `: the last status was ${lastStatus.slice(0, 64)}`;
    super(`not finished after ${timeoutMs} ms${last}`);
    this.id = id;
    this.lastStatus = lastStatus;
  }
}

/** Request for the results of a batch that has none, or none yet. */
export class NoResultsError extends ContentReviewError {
  readonly batchId: string;
  /** As the service spells it. */
  readonly batchStatus: string;

  constructor(batchId: string, batchStatus: string) {
    super(`the batch has no results: its status is ${batchStatus.slice(0, 64)}`);
    this.batchId = batchId;
    this.batchStatus = batchStatus;
  }
}
