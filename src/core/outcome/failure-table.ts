/**
 * Table of failed calls and batches and their handling. failure-policy.ts applies it.
 * dev/docs/failure-texts.ts describes each event for docs/failures.md, and each has a test in
 * test/integration/failures whose name begins with the event.
 */
import type { ServiceFailure } from '../../../packages/client/src/base/service-error.ts';

/** Calls of a PipelineKind to the service. */
export type ServiceCall = 'create' | 'upload' | 'status' | 'results';

/** Reaction of the engine to a call that still fails after the client's own retries. */
export type Reaction =
  /** Retries the call indefinitely. The wait is reported with its reason. */
  | { readonly do: 'wait'; readonly because: 'service' | 'api_key' }
  /** Pauses the content type, or publishes dead letters (option review.onRejectedType). */
  | { readonly do: 'reject_type' }
  /** Treats this attempt at the batch as failed. */
  | { readonly do: 'fail'; readonly as: JobFailure }
  /** Requests the batch and its file again after at least `afterMs`. If `counted`, repetitions are limited. */
  | { readonly do: 'download_again'; readonly counted: boolean; readonly afterMs?: number };

/** Cause of a failed batch; also a metric label and the code of ERROR decisions. */
export type JobFailure =
  | 'batch_failed'
  | 'batch_cancelled'
  | 'batch_unknown'
  | 'upload_lost'
  | 'upload_expired'
  | 'upload_rejected'
  | 'upload_too_large'
  | 'upload_blocked'
  | 'results_unreadable'
  | 'rows_missing'
  | 'rows_malformed'
  | 'review_timeout';

/**
 * Failed batches that count against the content type or the service. `unsettled`: batches with less
 * than half of their records settled. `given_up`: batches whose records would be given up.
 */
type TroubledBatches = 'all' | 'unsettled' | 'given_up' | 'none';

/** Handling of the records of a failed batch. */
export interface JobRule {
  readonly failure: JobFailure;
  /**
   * Whether to submit the records again as one batch. `always`: they were never reviewed, so giving
   * up would lose decisions. `attempts`: up to review.attempts times. `never`: it would not help.
   */
  readonly again: 'always' | 'attempts' | 'never';
  /**
   * Whether to halve the batch if it is not submitted again as one batch, because one record may
   * be the cause. Records that still fail are handled by review.onFailure.
   */
  readonly halved: boolean;
  /** Failed batches that count towards a pause of the content type. Five in a row pause it. */
  readonly pausesType: TroubledBatches;
  /** Message of the ERROR decision. */
  readonly message: string;
}

export interface FailureRow {
  /** Name of the event. Its test begins with this name, and dev/docs/failure-texts.ts describes it. */
  readonly event: string;
  /** Failed calls that count as this event. */
  readonly calls?: Partial<Record<ServiceCall, readonly ServiceFailure[]>>;
  readonly reaction?: Reaction;
  readonly job?: JobRule;
}

const WAIT: Reaction = { do: 'wait', because: 'service' };

/** The service never reviewed the batch, so giving up its records would lose decisions. */
const RESUBMITTED = { again: 'always', halved: false, pausesType: 'all' } as const;
/** Handling of failures that a single record may have caused. */
const HALVED = { again: 'attempts', halved: true, pausesType: 'all' } as const;
const ROWS_HALVED = { ...HALVED, pausesType: 'unsettled' } as const satisfies Partial<JobRule>;

export const FAILURE_TABLE: readonly FailureRow[] = [
  {
    event: 'type rejected on create',
    calls: { create: ['rejected'] },
    reaction: { do: 'reject_type' },
  },
  {
    event: 'API key refused',
    calls: { create: ['unauthorized'], status: ['unauthorized'] },
    reaction: { do: 'wait', because: 'api_key' },
  },
  {
    event: 'service overloaded or unreachable',
    calls: { create: ['unavailable'], upload: ['unavailable'], status: ['unavailable'] },
    reaction: WAIT,
  },
  {
    event: 'storage overloaded during a download',
    calls: { results: ['unavailable'] },
    reaction: { do: 'download_again', counted: false },
  },
  {
    event: 'response that violates the API contract',
    calls: {
      create: ['protocol', 'not_found', 'too_large', 'expired', 'blocked'],
      status: ['protocol', 'rejected', 'not_found', 'too_large', 'expired', 'blocked'],
    },
    reaction: WAIT,
  },
  {
    event: 'upload address not allowed',
    calls: { upload: ['blocked'] },
    reaction: { do: 'fail', as: 'upload_blocked' },
    job: {
      failure: 'upload_blocked',
      ...RESUBMITTED,
      message: 'the upload address is not allowed',
    },
  },
  {
    event: 'upload address expired',
    calls: { upload: ['expired'] },
    reaction: { do: 'fail', as: 'upload_expired' },
    job: { failure: 'upload_expired', ...RESUBMITTED, message: 'the upload address expired' },
  },
  {
    event: 'upload too large for the storage',
    calls: { upload: ['too_large'] },
    reaction: { do: 'fail', as: 'upload_too_large' },
    job: {
      failure: 'upload_too_large',
      again: 'never',
      halved: true,
      pausesType: 'given_up',
      message: 'the item alone is too large for the storage',
    },
  },
  {
    event: 'upload refused',
    calls: { upload: ['rejected', 'unauthorized', 'not_found', 'protocol'] },
    reaction: { do: 'fail', as: 'upload_rejected' },
    job: { failure: 'upload_rejected', ...HALVED, message: 'the storage refused the upload' },
  },
  {
    event: 'upload not seen by the service',
    job: { failure: 'upload_lost', ...RESUBMITTED, message: 'the upload had no effect' },
  },
  {
    event: 'batch ERROR',
    job: {
      failure: 'batch_failed',
      ...HALVED,
      message: 'the service failed on this item repeatedly, even when it was submitted alone',
    },
  },
  {
    event: 'batch CANCELLED',
    job: {
      failure: 'batch_cancelled',
      ...HALVED,
      message: 'the service cancelled the batch of this item repeatedly',
    },
  },
  {
    event: 'batch unknown to the service',
    job: {
      failure: 'batch_unknown',
      ...RESUBMITTED,
      message: 'the submitted batch is unknown to the service',
    },
  },
  {
    event: 'batch stays PENDING',
    job: {
      failure: 'review_timeout',
      again: 'never',
      halved: false,
      pausesType: 'none',
      message: 'the service did not finish this item in time',
    },
  },
  {
    event: 'download address expired',
    calls: { results: ['expired'] },
    reaction: { do: 'download_again', counted: false },
  },
  {
    event: 'download refused by the connector',
    calls: { results: ['blocked'] },
    reaction: { do: 'download_again', counted: false, afterMs: 300_000 },
  },
  {
    event: 'download cut or unreadable',
    calls: { results: ['protocol', 'rejected', 'unauthorized', 'not_found', 'too_large'] },
    reaction: { do: 'download_again', counted: true },
    job: {
      failure: 'results_unreadable',
      ...ROWS_HALVED,
      message:
        'the result file became unreadable before the row of this item, even when the item was submitted alone',
    },
  },
  {
    event: 'result rows missing',
    job: {
      failure: 'rows_missing',
      ...ROWS_HALVED,
      message: 'the results had no row for this item, even after it was submitted again',
    },
  },
  {
    event: 'result rows malformed',
    job: {
      failure: 'rows_malformed',
      ...ROWS_HALVED,
      message: 'the results had only malformed rows for this item',
    },
  },
  {
    event: 'result rows with status ERROR',
  },
];
