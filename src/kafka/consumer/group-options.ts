import type { ReadLimits } from '../records/index.ts';

/** How a member of a pipeline's consumer group behaves. Times in ms, sizes in bytes. */
export interface GroupOptions {
  readonly groupId: string;
  readonly sourceTopic: string;
  readonly journalTopic: string;
  /** Limits on records of the source topic. Default: those for topics that the connector writes itself. */
  readonly limits?: ReadLimits;
  /** Default 30,000 ms. */
  readonly sessionTimeoutMs?: number;
  /** Default 60,000 ms. */
  readonly rebalanceTimeoutMs?: number;
  /** Default 3,000 ms. */
  readonly heartbeatMs?: number;
  /** Partitions added to a topic are noticed within this time. Default 30,000 ms. */
  readonly metadataMaxAgeMs?: number;
  /** Most bytes of one fetch, compressed as they are. A single larger batch still comes. Default 8 MiB. */
  readonly maxBytes?: number;
  /** Default 1 MiB. */
  readonly maxBytesPerPartition?: number;
  /** How long a fetch waits for records, and so how long a partition may take to start after resume. Default 100 ms. */
  readonly maxWaitMs?: number;
  /** Without a word of the group for this long the client is made anew. Default: session and rebalance timeout and 10 s. */
  readonly maxSilenceMs?: number;
  /** Pause before the first attempt to come back after a crash; doubles up to 30 s. Default 500 ms. */
  readonly restartDelayMs?: number;
}
