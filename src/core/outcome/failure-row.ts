/** What a row of the failure table says (failure-table.ts). */
import type { ServiceFailure } from './service-error.ts';

/** Calls to the service, as the engine makes them (PipelineKind). */
export type ServiceCall = 'create' | 'upload' | 'status' | 'results';

/** What the engine does about a call that failed for good, the client's own retries included. */
export type Reaction =
  /** The same call again after a wait, for as long as it takes; the wait says why. */
  | { readonly do: 'wait'; readonly because: 'service_unavailable' | 'unauthorized' | 'bad_answer' }
  /** The policy for rejected types decides: hold the type back, or make dead letters. */
  | { readonly do: 'reject_type' }
  /** This attempt at the batch has failed. */
  | { readonly do: 'fail'; readonly as: JobFailure }
  /** Ask for the batch again and download its results from the start, no sooner than `afterMs`; `counted` ones end as missing rows. */
  | { readonly do: 'download_again'; readonly counted: boolean; readonly afterMs?: number };

/** Why a batch, or what is left of it, did not end with a decision for each record: metric label, code of ERROR decisions. */
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
  | 'rows_failed'
  | 'review_timeout';

/**
 * Which failed batches are evidence that the type or the service is in trouble: `unsettled`, those of which less than half was settled;
 * `given_up`, those whose records nothing more would be tried for.
 */
export type TroubledBatches = 'all' | 'unsettled' | 'given_up' | 'none';

/** What becomes of the records of a batch that failed. */
export interface JobRule {
  readonly failure: JobFailure;
  /**
   * Submitted again as one batch: `always` when the service never reviewed it, so that giving up would lose decisions;
   * `attempts`: as often as the policy says; `never`: again would change nothing.
   */
  readonly again: 'always' | 'attempts' | 'never';
  /** Then halved, because one of its records may be at fault. What is left then gets ERROR decisions, or dead letters by policy. */
  readonly halved: boolean;
  /** Five of them in a row pause the type. */
  readonly pausesType: TroubledBatches;
  /** What the ERROR decision says. */
  readonly message: string;
}

export interface FailureRow {
  /** Also how the name of its test begins. */
  readonly event: string;
  readonly connector: string;
  readonly user: string;
  /** What changes it, as in the configuration of a pipeline. */
  readonly options?: readonly string[];
  /** Failures of calls that mean this event. */
  readonly calls?: Partial<Record<ServiceCall, readonly ServiceFailure[]>>;
  readonly reaction?: Reaction;
  readonly job?: JobRule;
  /** For what needs a broker of its own: the test that shows it. */
  readonly provenBy?: { readonly file: string; readonly test: string };
}
