/**
 * Diagnosis of a cluster and of this client's rights. Nothing here changes anything, joins a group
 * or touches a transactional id in use; only `openTransactionalId` leaves something behind.
 */
import type { TopicSpec } from './kafka.ts';

export interface BrokerAnswer {
  readonly id: number;
  /** Advertised address: `host:port`. */
  readonly address: string;
  /** Reason why it does not answer there, with the remedy. */
  readonly failure: string | undefined;
}

export interface PartitionReplicas {
  readonly partition: number;
  /** Broker id; -1 without a leader. */
  readonly leader: number;
  readonly replicas: number;
  readonly inSync: number;
}

export interface TopicReplicas {
  readonly partitions: readonly PartitionReplicas[];
}

export interface GroupDescription {
  /** Kafka's name: Stable, Empty, Dead, … */
  readonly state: string;
  /** `consumer` for consumers, empty for a group without members. */
  readonly protocolType: string;
  /** Name of the agreed assigner; empty before that. */
  readonly protocol: string;
  /** True if all members are replicas of this connector. */
  readonly isOurs: boolean;
  readonly members: readonly { readonly clientId: string; readonly host: string }[];
}

/** Each method rejects with an error that has cause and remedy. */
export interface ClusterInspector {
  /** Connects and logs in at this address of the configuration. */
  connect(address: string): Promise<void>;
  /** Every broker of the cluster, queried at its own address. */
  brokers(): Promise<readonly BrokerAnswer[]>;
  /** Returns undefined if the topic does not exist. */
  topic(topic: string): Promise<TopicReplicas | undefined>;
  group(id: string): Promise<GroupDescription>;
  /**
   * Checks the right to write with an unused transactional id, by ending a transaction that does
   * not exist. Initialises nothing. Rejects if the right is missing.
   */
  tryTransactionalId(id: string): Promise<void>;
  /** Initialises a transactional id, as a producer does: Kafka remembers it until transactional.id.expiration.ms. */
  openTransactionalId(id: string, transactionTimeoutMs: number): Promise<void>;
  /** Checks whether the topic could be created, without creating it. */
  tryCreate(topic: string, spec: TopicSpec): Promise<void>;
  close(): Promise<void>;
}
