/** Options of the engine, with the names that they have in the configuration. Times are in ms, sizes in bytes. */
import type { BatchLimits } from '../../core/batch-buffer.ts';
import type { RetryPolicy } from '../../core/outcome/failure-policy.ts';
import type { LaneOptions } from '../limits/lanes.ts';
import type { QuotaOptions } from '../limits/quota-gate.ts';

type SealingLimits = Omit<BatchLimits, 'maxOffsetBytes'>;

/** Options that the engine reads from a pipeline's configuration. `Pipeline.reload` changes them in place. */
export interface PipelineOptions extends Readonly<typeof ENGINE_LIMITS> {
  readonly name: string;
  /** Name of the pipeline's service. */
  readonly service: string;
  readonly source: {
    readonly topic: string;
    readonly group: string;
    readonly startFrom: 'earliest' | 'latest';
    readonly maxInFlight: number;
  };
  readonly journal: {
    readonly topic: string;
    /** undefined (the default): min(source partitions, 64). */
    readonly partitions: number | undefined;
  };
  readonly output: { readonly topic: string };
  readonly deadLetters: { readonly topic: string };
  readonly batch: SealingLimits & {
    /** Limits for some content types, which replace the general ones. */
    readonly types: Readonly<Record<string, Partial<SealingLimits>>>;
  };
  readonly lanes: LaneOptions;
  /** Limits for the whole pipeline. */
  readonly quota: QuotaOptions;
  readonly review: Omit<RetryPolicy, 'maxRetryBatches'> & {
    /** Maximum wait between two polls. */
    readonly pollMs: number;
    readonly maxReviewTimeMs: number;
    readonly onTimeout: 'wait' | 'error';
    readonly onRejectedType: 'pause' | 'dead-letter';
    readonly graceMs: number;
    readonly pauseMs: number;
  };
  readonly objective: { readonly ageMs: number };
  readonly kafka: {
    readonly sessionTimeoutMs: number;
    readonly transactionTimeoutMs: number;
  };
  /** Maximum number of concurrent status requests of the pipeline, and of transfers in each direction. */
  readonly concurrency: { readonly requests: number; readonly transfers: number };
}

/** Limits that are not configurable. Tests lower them. */
export const ENGINE_LIMITS = {
  /** Maximum size of a settling transaction. docs/adr/0026 has the measurements. */
  chunk: { maxRows: 5_000, maxBytes: 4 * 1024 * 1024 },
  /** Maximum number of content types. Infinity if the configuration lists the types. */
  maxTypes: 100,
  /** Maximum number of batches that replace one failing batch, including halves of split batches. */
  maxRetryBatches: 64,
  /** Number of repeated downloads of an unreadable or short result file before its rows count as missing. */
  downloadRetries: 3,
  /** Maximum number of rows in the first batch of a shard. */
  firstBatchRows: 100,
  /** Number of unread records in a partition above which intake leaps to the newest ones. Only used with lanes. */
  leapOffsets: 2_000,
  /** Number of records of a backlog after which its reader checks for room, and continues with another partition. */
  backlogPart: 5_000,
  /**
   * Size in bytes at which the encoded offsets of a job make the job full, and at which the
   * progress record of a partition with a backlog makes intake pause the partition. It is far below
   * Kafka's maximum message size of 1 MB.
   */
  maxOffsetBytes: 256 * 1024,
  /** Time for which running uploads may continue after their shard was lost. */
  uploadDrainMs: 10_000,
  /** Wait before an unexpected group offset or log end is read a second time to confirm it. */
  resetConfirmMs: 2_000,
  /** Maximum number of concurrent claims. */
  claims: 8,
  /** Interval for committing a position that advances without a batch. */
  progressIntervalMs: 10_000,
  /** Interval at which the owner of an idle shard verifies its ownership. */
  ownershipCheckIntervalMs: 60_000,
};
