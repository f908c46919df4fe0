/** Options of the engine, with the names of the configuration. Times in ms, sizes in bytes. */
import type { BatchLimits } from '../../core/batch-buffer.ts';
import type { RetryPolicy } from '../../core/outcome/failure-policy.ts';
import type { LaneOptions } from '../limits/lanes.ts';
import type { QuotaOptions } from '../limits/quota-gate.ts';

type SealingLimits = Omit<BatchLimits, 'maxOffsetBytes'>;

/** Slice of a pipeline's configuration (docs/configuration.md explains each option). */
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
    /** undefined: min(source partitions, 64). */
    readonly partitions: number | undefined;
    /** undefined: 3, or the number of brokers when there are fewer. */
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
    /** Longest wait between two polls. */
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
  /** Status requests, and transfers in each direction, in flight over the whole pipeline. */
  readonly concurrency: { readonly requests: number; readonly transfers: number };
}

/** Limits that are not configurable; tests lower them. */
export const ENGINE_LIMITS = {
  /** Decisions of one settling transaction. Measured: docs/adr/0026. */
  chunk: { maxRows: 5_000, maxBytes: 4 * 1024 * 1024 },
  /** Content types in use; Infinity where the configuration lists the types. */
  maxTypes: 100,
  /** Batches for one failing batch, halves included. */
  maxRetryBatches: 64,
  /** Further downloads of an unreadable or short result file, before its rows count as missing. */
  downloadRetries: 3,
  /** Rows of the first batch of a shard. */
  firstBatchRows: 100,
  /** Encoded offsets of one job: far below Kafka's 1 MB message. */
  maxOffsetBytes: 256 * 1024,
  /** Time that running uploads have to end after their shard was lost. */
  uploadDrainMs: 10_000,
  /** Time after which a surprising group offset or end of the source log is read again, before it counts as a reset. */
  resetConfirmMs: 2_000,
  /** Shards that are claimed at the same time. */
  claims: 8,
  /** Interval at which a position that advances without a batch is committed. */
  progressIntervalMs: 10_000,
  /** Interval at which an idle shard verifies its ownership. */
  ownershipCheckIntervalMs: 60_000,
};
