/** What becomes of a job whose results are not all there (DESIGN 3 'Settle', DESIGN 4). One table, decided here alone. */
import type { JobRecord } from './job.ts';

export interface RetryPolicy {
  /** How often the same records are submitted as one batch before it is halved. */
  readonly attempts: number;
  /** Batches that may be submitted for one job in all, halves included. */
  readonly maxBatchesPerJob: number;
}

/** Why a job, or what is left of it, did not end with a decision for each record. */
export type JobFailure =
  /** The service reports the batch as ERROR or CANCELLED. */
  | 'batch_failed'
  | 'batch_cancelled'
  /** The upload never took effect: still waiting for it after the grace. */
  | 'upload_lost'
  /** The upload address expired before the upload was through. */
  | 'upload_expired'
  | 'upload_rejected'
  | 'upload_too_large'
  /** The service no longer knows the batch. */
  | 'batch_unknown'
  /** The result file has no row for them. */
  | 'rows_missing'
  /** Rows with status ERROR that configuration wants to try again. */
  | 'rows_failed'
  | 'review_timeout';

export type FailureAction =
  /** Submit what is left again, as one batch. */
  | 'retry'
  /** Submit it as two batches, to find the record that the service cannot take. */
  | 'bisect'
  /** Publish a decision with status ERROR for each record that is left. */
  | 'error';

/** Whether the failure can be the fault of one record in the batch: then halving it finds that record. */
const CONTENT_MAY_BE_AT_FAULT: Record<JobFailure, boolean> = {
  batch_failed: true,
  batch_cancelled: true,
  upload_rejected: true,
  upload_too_large: true,
  upload_lost: false,
  upload_expired: false,
  batch_unknown: false,
  rows_missing: false,
  rows_failed: false,
  review_timeout: false,
};

/**
 * @param left how many records of the job are unsettled
 * @param spent batches submitted so far in the job's line
 */
export function decide(
  failure: JobFailure,
  job: Pick<JobRecord, 'attempt' | 'depth'>,
  left: number,
  spent: number,
  policy: RetryPolicy,
): FailureAction {
  switch (failure) {
    case 'review_timeout':
      return 'error';
    case 'upload_lost':
    case 'upload_expired':
    case 'batch_unknown':
    // Rows that failed alone come here only while their own limit (errorRowAttempts) lets them.
    case 'rows_failed':
      // The service never reviewed these; nothing says that the content is at fault, so giving up would lose decisions.
      return 'retry';
    case 'upload_too_large':
      return left > 1 && spent + 2 <= policy.maxBatchesPerJob ? 'bisect' : 'error';
    default:
      if (job.depth === 0 && job.attempt < policy.attempts) return 'retry';
      if (CONTENT_MAY_BE_AT_FAULT[failure] && left > 1 && spent + 2 <= policy.maxBatchesPerJob) return 'bisect';
      return 'error';
  }
}

/** What the ERROR decision says. */
export const FAILURE_MESSAGE: Record<JobFailure, string> = {
  batch_failed: 'the service could not review the batch, also alone and again',
  batch_cancelled: 'the service cancelled the batch, also when it was submitted again',
  upload_lost: 'the upload did not take effect',
  upload_expired: 'the upload address expired',
  upload_rejected: 'the storage refused the upload',
  upload_too_large: 'the item alone is larger than the storage takes',
  batch_unknown: 'the service does not know the batch',
  rows_missing: 'the results had no row for this item, also after it was submitted again',
  rows_failed: 'the service could not review this item, also when it was submitted again',
  review_timeout: 'the service did not finish the review in time',
};
