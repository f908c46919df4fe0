/** Interface through which the stages of a shard call each other. */
import type { BatchRecords, LiveJob } from '../../core/journal/job.ts';
import type { JobFailure } from '../../core/outcome/failure-table.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import type { TerminalWriter } from '../context/terminal-writer.ts';
import type { DeadLetterRereads } from '../source/dead-letter-rereads.ts';
import type { RereadQueue } from '../source/reread-queue.ts';

/** State of a job in the service's last response. */
export interface Heard {
  /** State in the service's spelling. */
  readonly state: string;
  readonly finished: boolean;
  /** Time of the response in ms (wall clock). */
  readonly atMs: number;
}

/** Job that failed, or whose remaining records have no result. */
export interface FailedJob {
  readonly job: LiveJob;
  readonly failure: JobFailure;
  /** True if the job is the probe of a circuit breaker. */
  readonly isProbe: boolean;
  /** undefined if there was no response, because the upload failed. */
  readonly heard?: Heard | undefined;
  readonly detail?: FailureDetail | undefined;
}

/** Reason why a result file or its first malformed row failed, and number of malformed rows. Never contains content. */
export interface FailureDetail {
  readonly reason: string;
  readonly malformed?: number;
}

/** Wait before the first poll of a job, if `review.poll` is not shorter. */
export const FIRST_POLL_MS = 500;

export interface ShardStages {
  readonly writer: TerminalWriter;
  readonly deadLetters: DeadLetterRereads;
  readonly rereads: RereadQueue;
  /** Submits a batch to the service. Returns at once. */
  submit(submission: Submission): void;
  /** Follows an uploaded job at the service. Polls it for the first time after `firstWaitMs`. */
  follow(job: LiveJob, firstWaitMs: number, isProbe: boolean): void;
  /** Handles a failed job. Its records are submitted again, or get their terminal records. */
  fail(failed: FailedJob): void;
  /** Parks a batch whose type is blocked, or that waits for the quota. The caller discards its rows. */
  park(plan: BatchPlan, records: BatchRecords, forQuota?: boolean): void;
  /**
   * Submits a batch whose records intake has deferred. Resolves once the records have been reread.
   * @throws never; if the shard is lost, the promise stays pending
   */
  submitDeferred(plan: BatchPlan, records: BatchRecords): Promise<void>;
  /** Called once a new job and its progress have been committed. */
  journaled(): void;
  /** Schedules a commit of W. */
  commitProgress(): void;
}
