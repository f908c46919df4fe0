/** Shapes of kafkajs that its own types leave out, as far as the connector uses them. */
import type { OutgoingBatch } from '../producer/outgoing-batch.ts';

/** Identity that a broker gave to a producer. */
export interface ProducerIdentity {
  /** Decimal. */
  readonly producerId: string;
  readonly producerEpoch: number;
}

export interface PartitionMetadata {
  readonly partitionErrorCode: number;
  readonly partitionId: number;
  /** Broker id; -1 without a leader. */
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
}

export interface ClusterMetadata {
  readonly brokers: readonly {
    readonly nodeId: number;
    readonly host: string;
    readonly port: number;
  }[];
  readonly topicMetadata: readonly {
    readonly topic: string;
    readonly topicErrorCode: number;
    readonly partitionMetadata: readonly PartitionMetadata[];
  }[];
}

/** One partition of a fetch response. */
export interface FetchedPartition {
  readonly partition: number;
  readonly highWatermark: string;
  readonly lastStableOffset?: string;
  readonly abortedTransactions?:
    | readonly { readonly producerId: string; readonly firstOffset: string }[]
    | null;
  /** The record set as it came. */
  readonly messages: Buffer;
}

export interface ProduceOptions extends ProducerIdentity {
  readonly acks: number;
  readonly timeout?: number;
  readonly transactionalId: string | undefined;
  /** Handed on as it is, until the request is written. */
  readonly topicData: {
    readonly topic: string;
    readonly batch: Pick<OutgoingBatch, 'request'>;
  };
}

interface OffsetsResponse {
  readonly responses: readonly {
    readonly partitions: readonly {
      readonly partition: number;
      readonly offset: string;
      readonly metadata?: string | null;
    }[];
  }[];
}

/** Single requests to one broker. All reject with what kafkajs makes of the error codes. */
export interface KafkaBroker {
  metadata(topics: readonly string[]): Promise<ClusterMetadata>;
  createTopics(request: object): Promise<unknown>;
  describeConfigs(request: object): Promise<{
    readonly resources: readonly {
      readonly configEntries: readonly {
        readonly configName: string;
        readonly configValue: string | null;
      }[];
    }[];
  }>;
  listOffsets(request: object): Promise<OffsetsResponse>;
  offsetFetch(request: object): Promise<OffsetsResponse>;
  fetch(
    request: object,
  ): Promise<{ readonly responses: readonly { readonly partitions: FetchedPartition[] }[] }>;
  produce(options: ProduceOptions): Promise<{
    readonly topics: readonly {
      readonly partitions: readonly { readonly baseOffset: string }[];
    }[];
  }>;
  describeGroups(request: object): Promise<{
    readonly groups: readonly {
      readonly state: string;
      readonly protocolType: string;
      readonly protocol: string;
      readonly members: readonly { readonly clientId: string; readonly clientHost: string }[];
    }[];
  }>;
  leaveGroup(request: object): Promise<unknown>;
  initProducerId(request: object): Promise<ProducerIdentity>;
  addPartitionsToTxn(request: object): Promise<unknown>;
  addOffsetsToTxn(request: object): Promise<unknown>;
  txnOffsetCommit(request: object): Promise<unknown>;
  endTxn(request: object): Promise<unknown>;
}

/** Connections to all brokers, and what is known of the topics that were asked for. */
export interface KafkaCluster {
  readonly brokerPool: { readonly metadata: ClusterMetadata };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  /** Returns node ids with the partitions that each leads. */
  findLeaderForPartitions(
    topic: string,
    partitions: readonly number[],
  ): Readonly<Record<string, readonly number[]>>;
  findBroker(node: { readonly nodeId: number | string }): Promise<KafkaBroker>;
  findControllerBroker(): Promise<KafkaBroker>;
  /** @param of.coordinatorType 0 (default) of a group, 1 of a transactional id */
  findGroupCoordinator(of: {
    readonly groupId: string;
    readonly coordinatorType?: number;
  }): Promise<KafkaBroker>;
}

/** The part of kafkajs's ConsumerGroup that its public face hides and a member of a group needs. */
export interface ConsumerGroup {
  readonly generationId: number | null;
  readonly memberId: string | null;
  readonly seekOffset: Map<string, string>;
  /** Longest wait of a fetch, and of the fetch loop while everything is paused, ms. */
  maxWaitTime: number;
  /** Sends a heartbeat when none was sent within `interval` ms; joins one that is under way. */
  heartbeat(options: { interval: number }): Promise<void>;
}
