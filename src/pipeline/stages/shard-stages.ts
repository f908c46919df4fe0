/** Interface through which the stages of a shard call each other. */
import type { BatchRecords, LiveJob } from '../../core/journal/job.ts';
import type { JobFailure } from '../../core/outcome/failure-table.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import type { TerminalWriter } from '../context/terminal-writer.ts';
import type { DeadLetterRereads } from '../source/dead-letter-rereads.ts';
import type { RereadQueue } from '../source/reread-queue.ts';

/** Last state of a job that the service reported. */
export interface Heard {
  /** In the spelling of the service. */
  readonly state: string;
  readonly finished: boolean;
  /** Wall clock, ms. */
  readonly atMs: number;
}

/** A job that failed, or whose remaining records have no result. */
export interface FailedJob {
  readonly job: LiveJob;
  readonly failure: JobFailure;
  /** True for the probe of a circuit breaker. */
  readonly isProbe: boolean;
  /** undefined if the upload failed. */
  readonly heard?: Heard | undefined;
  readonly detail?: FailureDetail | undefined;
}

/** Failure of a result file, or of its first malformed row with their number. Never has content. */
export interface FailureDetail {
  readonly reason: string;
  readonly malformed?: number;
}

/** Wait before the first poll of a job, unless `review.poll` is shorter. */
export const FIRST_POLL_MS = 500;

export interface ShardStages {
  readonly writer: TerminalWriter;
  readonly deadLetters: DeadLetterRereads;
  readonly rereads: RereadQueue;
  /** Submits a batch to the service. Does not block. */
  submit(submission: Submission): void;
  /** Follows an uploaded job at the service, with the first poll after `firstWaitMs`. */
  follow(job: LiveJob, firstWaitMs: number, isProbe: boolean): void;
  /** Handles a failed job, whose records are submitted again or get their terminal records. */
  fail(failed: FailedJob): void;
  /** Parks a batch whose type is blocked, or that waits for the quota. The caller discards its rows. */
  park(plan: BatchPlan, records: BatchRecords, forQuota?: boolean): void;
  /**
   * Submits a batch whose records intake has passed over. Resolves when they were read again.
   * @throws never; a lost shard leaves it pending
   */
  submitPassedOver(plan: BatchPlan, records: BatchRecords): Promise<void>;
  /** Called after a new job and its progress are committed. */
  journaled(): void;
  /** Schedules a commit of W. */
  commitProgress(): void;
}
