/** Stages of a shard as each of them reaches the others. */
import type { LiveJob } from '../../core/journal/job.ts';
import type { CoordinateList } from '../../core/offsets/coordinate-list.ts';
import type { JobFailure } from '../../core/outcome/failure-row.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import type { OutputOrder } from '../publish/output-order.ts';
import type { TerminalWriter } from '../publish/terminal-writer.ts';
import type { DeadLetterRereads } from '../source/dead-letter-rereads.ts';
import type { RereadQueue } from '../source/reread-queue.ts';

export interface ShardStages {
  readonly order: OutputOrder;
  readonly writer: TerminalWriter;
  readonly deadLetters: DeadLetterRereads;
  readonly rereads: RereadQueue;
  /** Submits a batch to the service. Does not block. */
  submit(submission: Submission): void;
  /** Follows a job at the service; the first poll comes after `firstWaitMs`. */
  follow(job: LiveJob, firstWaitMs: number): void;
  /** Takes a job that failed: its records are submitted again, or get their terminal records. */
  fail(job: LiveJob, failure: JobFailure): void;
  /** Parks a batch whose type is blocked; the caller discards its rows. */
  park(plan: BatchPlan, records: CoordinateList): void;
  /** Called once a new job is committed, and progress with it. */
  journaled(): void;
  /** Commits W soon. */
  commitProgress(): void;
}
