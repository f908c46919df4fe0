/**
 * Questions about a cluster and what this client may do there, for whoever looks for what is wrong. Nothing that is asked here
 * changes anything, joins a group or touches a transactional id in use; `openTransactionalId` alone leaves something behind.
 */
import type { TopicSpec } from './kafka.ts';

export interface BrokerAnswer {
  readonly id: number;
  /** As the cluster advertises it: `host:port`. */
  readonly address: string;
  /** Why it does not answer there, with the remedy. */
  readonly failure: string | undefined;
}

export interface PartitionReplicas {
  readonly partition: number;
  /** Broker id; -1 when there is none. */
  readonly leader: number;
  readonly replicas: number;
  readonly inSync: number;
}

export interface TopicReplicas {
  readonly partitions: readonly PartitionReplicas[];
}

export interface GroupDescription {
  /** As Kafka calls it: Stable, Empty, Dead, … */
  readonly state: string;
  /** `consumer` for consumers, empty for a group without members. */
  readonly protocolType: string;
  /** Name of the assigner that its members agreed on; empty while they have not. */
  readonly protocol: string;
  /** Its members, if there are any, are replicas of this connector. */
  readonly isOurs: boolean;
  readonly members: readonly { readonly clientId: string; readonly host: string }[];
}

/** Each rejects with a sentence that says what is wrong and what to do. */
export interface ClusterProbe {
  /** Connects and logs in at this one address of the configuration. */
  connect(address: string): Promise<void>;
  /** Every broker of the cluster, asked at its own address. */
  brokers(): Promise<readonly BrokerAnswer[]>;
  /** undefined when the topic does not exist. */
  topic(topic: string): Promise<TopicReplicas | undefined>;
  group(id: string): Promise<GroupDescription>;
  /**
   * Whether this client may write with a transactional id, one that nobody uses: it is asked to end a transaction that does not
   * exist. Nothing is initialised. Rejects when the right is missing.
   */
  tryTransactionalId(id: string): Promise<void>;
  /** Initialises a transactional id, as a producer does: Kafka remembers it until transactional.id.expiration.ms. */
  openTransactionalId(id: string, transactionTimeoutMs: number): Promise<void>;
  /** Asks whether the topic could be created, without creating it. */
  tryCreate(topic: string, spec: TopicSpec): Promise<void>;
  close(): Promise<void>;
}
