/** What the engine needs to know of one pipeline. `src/app` makes it from the configuration. Times in ms, sizes in bytes. */
import type { BatchLimits } from '../../core/batch/buffer.ts';
import type { RetryPolicy } from '../../core/outcome/failure-policy.ts';

export interface PipelineOptions {
  readonly name: string;
  readonly source: {
    readonly topic: string;
    readonly group: string;
    /** Where the very first claim starts when the group has committed nothing. */
    readonly startFrom: 'earliest' | 'latest';
    /** Distance from the watermark to the newest offset read at which a partition pauses. */
    readonly maxSpan: number;
  };
  readonly journal: {
    readonly topic: string;
    /** undefined: min(source partitions, 64). */
    readonly partitions: number | undefined;
    /** undefined: 3, or the number of brokers when there are fewer. */
    readonly replicationFactor: number | undefined;
  };
  readonly output: {
    readonly topic: string;
    /** Decisions go out as batches finish, or in the order in which the batches of each partition were submitted. */
    readonly order: 'completion' | 'source';
  };
  readonly deadLetters: { readonly topic: string };
  readonly batch: BatchLimits;
  readonly chunk: { readonly maxRows: number; readonly maxBytes: number };
  readonly retry: RetryPolicy & {
    /** Rows with status ERROR: publish them, or submit them again until this attempt. 1 publishes at once. */
    readonly errorRowAttempts: number;
    /** How often a result file with too few rows is downloaded again. */
    readonly downloads: number;
  };
  readonly review: {
    readonly pollInitialMs: number;
    readonly pollMaxMs: number;
    readonly maxReviewMs: number;
    readonly onTimeout: 'wait' | 'error';
    /** A type that the service refuses on create: hold its records back, or make them dead letters. */
    readonly onRejectedType: 'pause' | 'dead-letter';
    /** How long a batch may wait for its upload to be seen before it is given up. */
    readonly uploadGraceMs: number;
    /** How long the service may not know a batch (404/410). */
    readonly missingGraceMs: number;
    /** Pause after the service refused a type, or five failed batches in a row. */
    readonly typePauseMs: number;
    /** Pause after 401/403. */
    readonly authPauseMs: number;
  };
  readonly timing: {
    readonly sessionTimeoutMs: number;
    /** After this the brokers abort a transaction. */
    readonly transactionTimeoutMs: number;
    /** W that moves without a job is committed this often. */
    readonly progressIntervalMs: number;
    /** An idle owner proves this often that the shard is still its own. */
    readonly probeIntervalMs: number;
    /** Running uploads may end within this time after the shard was lost. */
    readonly uploadDrainMs: number;
    /** A group offset that is not ours is read again after this time before it counts as a reset, and so is an end of the source log that lies behind what was read. */
    readonly resetConfirmMs: number;
  };
  readonly metrics: {
    /** Results that have a series of their own in the mix of decisions; 0: none is counted. */
    readonly maxResults: number;
  };
  /** Uploads at a time, status requests at a time, downloads at a time: over the whole pipeline. */
  readonly concurrency: {
    readonly uploads: number;
    readonly polls: number;
    readonly downloads: number;
    readonly claims: number;
  };
}
