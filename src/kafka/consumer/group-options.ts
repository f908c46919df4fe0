import type { ReadLimits } from '../records/index.ts';

/** Options of a member of a pipeline's consumer group. Times in ms, sizes in bytes. */
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
  /** Time within which partitions added to a topic are noticed. Default 30,000 ms. */
  readonly metadataMaxAgeMs?: number;
  /** Maximum bytes of one fetch, compressed. A single larger batch still comes. Default 8 MiB. */
  readonly maxBytes?: number;
  /** Default 1 MiB. */
  readonly maxBytesPerPartition?: number;
  /** Time that a fetch waits for records. Default 100 ms. */
  readonly maxWaitMs?: number;
  /** Silence of the group after which the client is replaced. Default: session and rebalance timeout and 10 s. */
  readonly maxSilenceMs?: number;
  /** Pause before the first restart after a crash; doubles up to 30 s. Default 500 ms. */
  readonly restartDelayMs?: number;
}
