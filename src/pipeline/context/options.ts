/** Options of the engine, under the names of the configuration. Times are in ms, sizes in bytes. */
import type { BatchLimits } from '../../core/batch-buffer.ts';
import type { RetryPolicy } from '../../core/outcome/failure-policy.ts';
import type { LaneOptions } from '../limits/lanes.ts';
import type { QuotaOptions } from '../limits/quota-gate.ts';

type SealingLimits = Omit<BatchLimits, 'maxOffsetBytes'>;

/** Part of a pipeline's configuration. docs/configuration.md explains each option. */
export interface PipelineOptions extends Readonly<typeof ENGINE_LIMITS> {
  readonly name: string;
  readonly source: {
    readonly topic: string;
    readonly group: string;
    readonly startFrom: 'earliest' | 'latest';
    readonly maxInFlight: number;
  };
  readonly journal: {
    readonly topic: string;
    /** Default: min(source partitions, 64). */
    readonly partitions: number | undefined;
    /** Default: 3, or the number of brokers if there are fewer. */
    readonly replicationFactor: number | undefined;
  };
  readonly output: { readonly topic: string };
  readonly deadLetters: { readonly topic: string };
  readonly batch: SealingLimits & {
    /** Limits that replace the general ones, by content type. */
    readonly types: Readonly<Record<string, Partial<SealingLimits>>>;
  };
  readonly lanes: LaneOptions;
  /** Limits of the pipeline as a whole. */
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
  /** Maximum status requests, and transfers in each direction, of the pipeline at a time. */
  readonly concurrency: { readonly requests: number; readonly transfers: number };
}

/** Limits that are not configurable; tests lower them. */
export const ENGINE_LIMITS = {
  /** Maximum decisions in one settling transaction. docs/adr/0026 has the measurements. */
  chunk: { maxRows: 5_000, maxBytes: 4 * 1024 * 1024 },
  /** Maximum number of content types; Infinity if the configuration lists the types. */
  maxTypes: 100,
  /** Maximum number of batches for one failing batch, including halves. */
  maxRetryBatches: 64,
  /** Repeated downloads of an unreadable or short result file before its rows count as missing. */
  downloadRetries: 3,
  /** Maximum rows of the first batch of a shard. */
  firstBatchRows: 100,
  /** Number of unread records of a partition above which intake leaps to the newest ones, with lanes. */
  leapOffsets: 2_000,
  /** Number of records of a backlog after which another partition is read, and room is checked. */
  backlogPart: 5_000,
  /**
   * Size of the encoded offsets at which a job is full, and of the progress record at which intake
   * pauses in a partition with a backlog, far below Kafka's 1 MB message.
   */
  maxOffsetBytes: 256 * 1024,
  /** Time for running uploads to end after their shard was lost. */
  uploadDrainMs: 10_000,
  /** Wait before an unexpected group offset or log end is read again to confirm it. */
  resetConfirmMs: 2_000,
  /** Maximum number of shards that are claimed at the same time. */
  claims: 8,
  /** Interval at which a position that advances without a batch is committed. */
  progressIntervalMs: 10_000,
  /** Interval at which an idle shard verifies its ownership. */
  ownershipCheckIntervalMs: 60_000,
};
