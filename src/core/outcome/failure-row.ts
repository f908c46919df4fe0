/** Rows of the failure table (failure-table.ts). */
import type { ServiceFailure } from '../../../packages/client/src/base/service-error.ts';

/** Calls of a PipelineKind to the service. */
export type ServiceCall = 'create' | 'upload' | 'status' | 'results';

/** Reaction of the engine to a failed call, once the client's own retries are used up. */
export type Reaction =
  /** Retries the call after a wait, indefinitely; the reason is shown with the wait. */
  | { readonly do: 'wait'; readonly because: 'service' | 'api_key' }
  /** Pauses the type, or publishes dead letters (review.onRejectedType). */
  | { readonly do: 'reject_type' }
  /** This attempt at the batch has failed. */
  | { readonly do: 'fail'; readonly as: JobFailure }
  /** Requests the batch again and repeats the download, no sooner than `afterMs`; the number of `counted` ones is limited. */
  | { readonly do: 'download_again'; readonly counted: boolean; readonly afterMs?: number };

/** Cause of a failed batch: metric label, and code of ERROR decisions. */
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
 * Failed batches that count as evidence against the type or the service: `unsettled`, those of
 * which less than half was settled; `given_up`, those whose records would be given up.
 */
type TroubledBatches = 'all' | 'unsettled' | 'given_up' | 'none';

/** Fate of the records of a failed batch. */
export interface JobRule {
  readonly failure: JobFailure;
  /**
   * Submitted again as one batch: `always` if the service never reviewed it, so that giving up
   * would lose decisions; `attempts`: up to review.attempts; `never`: a repetition is useless.
   */
  readonly again: 'always' | 'attempts' | 'never';
  /** Then halved, because one of its records may be the cause. The rest gets ERROR decisions or dead letters (review.onFailure). */
  readonly halved: boolean;
  /** Five of them in a row pause the type. */
  readonly pausesType: TroubledBatches;
  /** Message of the ERROR decision. */
  readonly message: string;
}

export interface FailureRow {
  /** The name of its test begins with it; its texts are in dev/docs/failure-texts.ts. */
  readonly event: string;
  /** Failed calls that are this event. */
  readonly calls?: Partial<Record<ServiceCall, readonly ServiceFailure[]>>;
  readonly reaction?: Reaction;
  readonly job?: JobRule;
}
