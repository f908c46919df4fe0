/** Parts of kafkajs that the connector uses but kafkajs's own types leave out. */
import type { Socket } from 'node:net';

/** Module `protocol/error.js`. */
export interface ProtocolErrors {
  createErrorFromCode(code: number): Error;
}

/** Identity that a broker assigned to a producer. */
export interface ProducerIdentity {
  /** Decimal. */
  readonly producerId: string;
  readonly producerEpoch: number;
}

export interface PartitionMetadata {
  readonly partitionErrorCode: number;
  readonly partitionId: number;
  /** Broker id, or -1 if there is no leader. */
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly offlineReplicas?: readonly number[];
}

export interface ClusterMetadata {
  brokers: {
    nodeId: number;
    host: string;
    port: number;
  }[];
  topicMetadata: {
    topic: string;
    topicErrorCode: number;
    partitionMetadata: PartitionMetadata[];
  }[];
}

/** One partition of a fetch response. */
export interface FetchedPartition {
  partition: number;
  highWatermark: string;
  lastStableOffset?: string;
  abortedTransactions?: { producerId: string; firstOffset: string }[] | null;
  preferredReadReplica?: number;
  /** The undecoded record set. */
  messages: Buffer;
  /** Error of this partition alone. */
  failure?: Error;
}

/** Fields of a produce request (KIP-98, versions 3 to 8) before its only batch. */
export interface ProduceFields {
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
  /** undefined outside of transactions. */
  readonly transactionalId: string | undefined;
  readonly acks: number;
  readonly timeoutMs: number;
  readonly topic: string;
}

export interface ProduceOptions extends ProducerIdentity {
  acks: number;
  timeout?: number;
  transactionalId: string | undefined;
  /** kafkajs passes this through unchanged until the request is written. */
  topicData: {
    topic: string;
    batch: { request(fields: ProduceFields): Buffer };
  };
}

interface OffsetsResponse {
  responses: {
    partitions: {
      partition: number;
      offset: string;
      metadata?: string | null;
    }[];
  }[];
}

/** Individual requests to one broker. All reject with kafkajs's error for the error code of the response. */
export interface KafkaBroker {
  readonly nodeId: number | string;
  metadata(topics: string[]): Promise<ClusterMetadata>;
  createTopics(request: object): Promise<unknown>;
  describeConfigs(request: object): Promise<{
    resources: {
      configEntries: {
        configName: string;
        configValue: string | null;
      }[];
    }[];
  }>;
  listOffsets(request: object): Promise<OffsetsResponse>;
  offsetFetch(request: object): Promise<OffsetsResponse>;
  fetch(request: object): Promise<{ responses: { partitions: FetchedPartition[] }[] }>;
  produce(options: ProduceOptions): Promise<{
    topics: {
      partitions: { baseOffset: string }[];
    }[];
  }>;
  describeGroups(request: object): Promise<{
    groups: {
      state: string;
      protocolType: string;
      protocol: string;
      members: { memberId: string; clientId: string; clientHost: string }[];
    }[];
  }>;
  leaveGroup(request: object): Promise<unknown>;
  heartbeat(request: {
    readonly groupId: string;
    readonly memberId: string;
    readonly groupGenerationId: number;
  }): Promise<unknown>;
  initProducerId(request: object): Promise<ProducerIdentity>;
  addPartitionsToTxn(request: object): Promise<unknown>;
  addOffsetsToTxn(request: object): Promise<unknown>;
  txnOffsetCommit(request: object): Promise<unknown>;
  endTxn(request: object): Promise<unknown>;
}

interface ConnectionPool {
  readonly pool: readonly {
    readonly socket?: Socket;
    /** `throttledUntil`: time on the monotonic clock, ms. */
    readonly requestQueue: { readonly throttledUntil: number };
  }[];
}

/** Connections to all brokers, and the metadata of requested topics. */
export interface KafkaCluster {
  readonly brokerPool: {
    readonly metadata: ClusterMetadata;
    readonly brokers: Readonly<Record<string, { readonly connectionPool: ConnectionPool }>>;
  };
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  refreshMetadataIfNecessary(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  getNodeIds(): readonly string[];
  /** Returns the partitions that each broker leads, by node id. */
  findLeaderForPartitions(
    topic: string,
    partitions: readonly number[],
  ): Readonly<Record<string, readonly number[]>>;
  findBroker(node: { readonly nodeId: number | string }): Promise<KafkaBroker>;
  findControllerBroker(): Promise<KafkaBroker>;
  /** @param of.coordinatorType 0 (default) for a group, 1 for a transactional id */
  findGroupCoordinator(of: {
    readonly groupId: string;
    readonly coordinatorType?: number;
  }): Promise<KafkaBroker>;
}

/** Members of kafkajs's ConsumerGroup that the public API hides. */
export interface ConsumerGroup {
  readonly generationId: number | null;
  readonly memberId: string | null;
  readonly coordinator: KafkaBroker | null;
  readonly seekOffset: Map<string, string>;
  /**
   * Maximum time in ms that a fetch waits for records, and that the fetch loop waits while all
   * partitions are paused.
   */
  maxWaitTime: number;
  commitOffsets(offsets: {
    topics: {
      topic: string;
      partitions: { partition: number; offset: string; metadata: null }[];
    }[];
  }): Promise<void>;
}
