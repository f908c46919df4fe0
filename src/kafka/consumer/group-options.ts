/** Options of a consumer group member, and their defaults. Times in ms, sizes in bytes. */
import { OWN_TOPIC_LIMITS } from '../kafkajs/partition-fetch.ts';

export const GROUP_DEFAULTS = {
  /** Limits on records of the source topic. */
  limits: OWN_TOPIC_LIMITS,
  sessionTimeoutMs: 30_000,
  rebalanceTimeoutMs: 60_000,
  heartbeatMs: 3_000,
  /** Maximum time until partitions that were added to a topic are detected. */
  metadataMaxAgeMs: 10_000,
  /** Maximum compressed size of one fetch. If the first batch alone is larger, it is still returned. */
  maxBytes: 8 * 1024 * 1024,
  maxBytesPerPartition: 1024 * 1024,
  /** Time that a fetch waits for records. */
  maxWaitMs: 100,
  /** Pause before the first restart after a crash. Doubles up to 30 s. */
  restartDelayMs: 500,
};

export interface GroupOptions extends Partial<typeof GROUP_DEFAULTS> {
  readonly groupId: string;
  readonly sourceTopic: string;
  readonly journalTopic: string;
  /**
   * Part of the client id that no other running process has. A member that has this client id
   * before the first join is left over from a dead process, and is removed from the group. Default:
   * none.
   */
  readonly memberName?: string | undefined;
  /** Name of the group protocol, for consumers other than the connector. */
  readonly protocol?: string;
  /** Silence of the group after which the client is replaced. Default: session timeout + rebalance timeout + 10 s. */
  readonly maxSilenceMs?: number;
}

export type GroupSettings = GroupOptions &
  typeof GROUP_DEFAULTS & { readonly maxSilenceMs: number };

export function groupSettings(options: GroupOptions): GroupSettings {
  const settings = { ...GROUP_DEFAULTS, ...options };
  const maxSilenceMs = settings.sessionTimeoutMs + settings.rebalanceTimeoutMs + 10_000;
  return { maxSilenceMs, ...settings };
}
