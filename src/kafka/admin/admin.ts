/** Cluster requests outside the data path. Implements ClusterAdmin. */
import {
  type ClusterAdmin,
  type CommittedOffset,
  type PartitionRange,
  type TopicDescription,
  type TopicSpec,
  UnreadPartitionError,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import {
  answered,
  ClusterConnection,
  coordinatorOf,
  createTopic,
  describeGroup,
  knownPartitions,
  LATEST,
  listOffsets,
  partitionsOf,
  READ_UNCOMMITTED,
  rangesOf,
  settingsOf,
} from '../cluster-connection.ts';
import type { ConnectOptions } from '../connect.ts';
import { PROTOCOL_NAME } from '../consumer/assigner.ts';
import {
  explain,
  isTransient,
  protocolErrorOf,
  type RequestedAccess,
  toOffset,
} from '../errors.ts';
import type { KafkaCluster } from '../kafkajs/shapes.ts';

/** Maximum age of a topic's facts, as in Java's producers. New partitions of an output topic are used after that time. */
const WRITABLE_MAX_AGE_MS = 5 * 60_000;
/** Maximum time for a new topic to appear in the metadata with all its leaders. */
const VISIBLE_PATIENCE_MS = 15_000;

/** Facts about a topic that a producer needs, at most a few minutes old. */
export interface WritableTopic {
  readonly partitions: number;
  /** undefined if the client has no right to read the topic's settings. */
  readonly maxMessageBytes: number | undefined;
}

export interface BrokerAnswer {
  readonly id: number;
  /** Advertised address: `host:port`. */
  readonly address: string;
  /** Reason why the broker cannot be reached there, with the remedy. undefined if it can be reached. */
  readonly failure: string | undefined;
}

export interface GroupDescription {
  /** State of the group in Kafka's terms: Stable, Empty, Dead, … */
  readonly state: string;
  /** `consumer` for a group of consumers, empty for a group without members. */
  readonly protocolType: string;
  /** Name of the agreed assigner; empty until the members agree on one. */
  readonly protocol: string;
  /** False if another application uses the group. */
  readonly isOurs: boolean;
  readonly members: readonly { readonly clientId: string; readonly host: string }[];
}

/** Errors that brokers return if an unknown producer ends a transaction that does not exist. */
const NO_SUCH_TRANSACTION =
  /^(INVALID_PRODUCER_ID_MAPPING|INVALID_PRODUCER_EPOCH|INVALID_TXN_STATE|PRODUCER_FENCED)$/;

export class KafkaAdmin implements ClusterAdmin {
  readonly #connect: ConnectOptions;
  readonly #logger: Logger;
  readonly #connection: ClusterConnection;
  readonly #writable = new Map<
    string,
    { readonly facts: Promise<WritableTopic>; readonly untilMs: number }
  >();

  constructor(connect: ConnectOptions, logger: Logger) {
    this.#connect = connect;
    this.#logger = logger;
    this.#connection = new ClusterConnection(connect, logger);
  }

  async brokerCount(): Promise<number> {
    return await this.#connection.request('describe the cluster', {}, async (cluster) => {
      await cluster.refreshMetadata();
      return cluster.brokerPool.metadata.brokers.length;
    });
  }

  async describeTopic(topic: string): Promise<TopicDescription | undefined> {
    const what = `describe topic ${topic}`;
    const partitions = await this.#connection.request(what, this.#using(topic), (cluster) =>
      partitionsOf(cluster, topic),
    );
    if (partitions === undefined) return undefined;
    const access = { topic, operation: 'DESCRIBE_CONFIGS' };
    return {
      partitions: partitions.length,
      replicationFactor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      settings: await this.#connection.request(what, access, (cluster) =>
        settingsOf(cluster, topic),
      ),
    };
  }

  async createTopic(topic: string, spec: TopicSpec): Promise<void> {
    const access = { topic, operation: 'CREATE' };
    await this.#connection.request(`create topic ${topic}`, access, async (cluster) => {
      await createTopic(cluster, topic, spec, false).catch((error: unknown) => {
        if (protocolErrorOf(error) !== 'TOPIC_ALREADY_EXISTS') throw error;
      });
    });
    const visible = async (cluster: KafkaCluster) => {
      const partitions = await partitionsOf(cluster, topic);
      if (partitions?.every(({ leader }) => leader >= 0) !== true)
        throw Object.assign(new Error('the topic has no leaders yet'), { retriable: true });
    };
    await this.#connection.request(`find the new topic ${topic}`, access, visible, {
      patienceMs: VISIBLE_PATIENCE_MS,
    });
  }

  async ranges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, PartitionRange>> {
    try {
      return await this.#ranges(topic, partitions);
    } catch (error) {
      const [first] = partitions;
      if (first === undefined || !isTransient(error)) throw error;
      const some = partitions.length === 1 ? [] : partitions;
      const each = await Promise.allSettled(some.map((one) => this.#ranges(topic, [one])));
      const seen = each.flatMap((one) => (one.status === 'fulfilled' ? [...one.value] : []));
      if (seen.length === 0)
        throw new UnreadPartitionError(first, (error as Error).message, { cause: error });
      return new Map(seen);
    }
  }

  /**
   * Returns the first offset of each partition at or after a time. Records of open transactions
   * count. Partitions without such a record are left out.
   */
  async offsets(
    topic: string,
    partitions: readonly number[],
    timestamp: number,
  ): Promise<ReadonlyMap<number, number>> {
    return await this.#connection.request(
      `list the offsets of topic ${topic}`,
      this.#using(topic),
      (cluster) => listOffsets(cluster, topic, partitions, timestamp, READ_UNCOMMITTED),
    );
  }

  async ends(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const ends = async (cluster: KafkaCluster) => {
      const leaderless = (await knownPartitions(cluster, topic)).filter(({ leader }) => leader < 0);
      const led = partitions.filter((one) =>
        leaderless.every((other) => other.partitionId !== one),
      );
      return await listOffsets(cluster, topic, led, LATEST, READ_UNCOMMITTED);
    };
    const access = this.#using(topic);
    return await this.#connection.request(`list the ends of topic ${topic}`, access, ends);
  }

  async committed(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    const access = { ...this.#using(topic), group, groupOperation: this.#connect.groupUse };
    return await this.#connection.request(
      `read the offsets of group ${group}`,
      access,
      async (cluster) => {
        const coordinator = await coordinatorOf(cluster, 'group', group);
        const topics = [{ topic, partitions: partitions.map((partition) => ({ partition })) }];
        const { responses } = await coordinator.offsetFetch({ groupId: group, topics });
        const offsets = new Map(
          responses
            .flatMap((one) => one.partitions)
            .map(({ partition, offset, metadata }) => [
              partition,
              { offset: Number(offset) < 0 ? null : toOffset(offset), metadata: metadata ?? '' },
            ]),
        );
        return new Map(partitions.map((one) => [one, answered(offsets, one, topic)]));
      },
    );
  }

  /** Returns the facts about a topic. Rejects if the topic does not exist. */
  writable(topic: string): Promise<WritableTopic> {
    const nowMs = performance.now();
    const kept = this.#writable.get(topic);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.facts;
    const access = this.#using(topic);
    const facts = this.#connection.request(`look up topic ${topic}`, access, async (cluster) => {
      const { length: partitions } = await knownPartitions(cluster, topic);
      return { partitions, maxMessageBytes: await maxMessageBytes(cluster, topic) };
    });
    this.#writable.set(topic, { facts, untilMs: nowMs + WRITABLE_MAX_AGE_MS });
    facts.catch(() => this.#writable.delete(topic));
    return facts;
  }

  // Diagnostic requests of the doctor. None of them joins a group or changes the cluster.

  /** Connects to this address of the configuration and logs in. */
  async connect(address: string): Promise<void> {
    const only = { ...this.#connect, brokers: [address] };
    const connection = new ClusterConnection(only, this.#logger, 0);
    try {
      await connection.request(`connect to ${address}`, {}, async () => undefined);
    } finally {
      await connection.close();
    }
  }

  /** Queries every broker of the cluster at its own address. */
  async brokers(): Promise<readonly BrokerAnswer[]> {
    return await this.#connection.request('list the brokers', {}, async (cluster) => {
      await cluster.refreshMetadata();
      const known = [...cluster.brokerPool.metadata.brokers].sort((a, b) => a.nodeId - b.nodeId);
      return await Promise.all(
        known.map(async ({ nodeId, host, port }): Promise<BrokerAnswer> => {
          const failure = await cluster.findBroker({ nodeId }).then(
            () => undefined,
            (error: unknown) => explain(error, { principal: this.#connect.security?.principal }),
          );
          return { id: nodeId, address: `${host}:${port}`, failure };
        }),
      );
    });
  }

  async group(id: string): Promise<GroupDescription> {
    const what = `describe group ${id}`;
    const access = { group: id, groupOperation: this.#connect.groupUse };
    return await this.#connection.request(what, access, async (cluster) => {
      const { members, ...group } = await describeGroup(cluster, id);
      const { protocolType, protocol } = group;
      return {
        ...group,
        isOurs:
          protocolType === '' ||
          (protocolType === 'consumer' && protocol === '') ||
          protocol === PROTOCOL_NAME,
        members: members.map(({ clientId, clientHost }) => ({ clientId, host: clientHost })),
      };
    });
  }

  /**
   * Checks the right to write with an unused transactional id, by ending a transaction that does
   * not exist. Initialises no producer. Rejects if the right is missing.
   */
  async tryTransactionalId(id: string): Promise<void> {
    const what = `use the transactional id ${id}`;
    // Ids have the form `<journal>-…`, and rights are granted for that prefix.
    const access = { transactionalIds: id.slice(0, id.lastIndexOf('-') + 1) };
    await this.#connection.request(what, access, async (cluster) => {
      const coordinator = await coordinatorOf(cluster, 'transaction', id);
      try {
        // Brokers check the right before they look for the transaction.
        await coordinator.endTxn({
          transactionalId: id,
          producerId: '0',
          producerEpoch: 0,
          transactionResult: false,
        });
      } catch (error) {
        if (!NO_SUCH_TRANSACTION.test(protocolErrorOf(error) ?? '')) throw error;
      }
    });
  }

  /** Checks whether the topic could be created, without creating it. */
  async tryCreate(topic: string, spec: TopicSpec): Promise<void> {
    const access = { topic, operation: 'CREATE' };
    await this.#connection.request(`create topic ${topic}`, access, (cluster) =>
      createTopic(cluster, topic, spec, true),
    );
  }

  silentMs(): number {
    return this.#connect.silence?.silentMs ?? 0;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #ranges(
    topic: string,
    partitions: readonly number[],
  ): Promise<Map<number, PartitionRange>> {
    return await this.#connection.request(
      `list the offsets of topic ${topic}`,
      this.#using(topic),
      (cluster) => rangesOf(cluster, topic, partitions),
    );
  }

  #using(topic: string): RequestedAccess {
    return { topic, operation: this.#connect.uses?.get(topic) };
  }
}

/** Returns the topic's maximum size of a record batch, or undefined if the client has no right to read settings. */
async function maxMessageBytes(cluster: KafkaCluster, topic: string): Promise<number | undefined> {
  try {
    const settings = await settingsOf(cluster, topic, ['max.message.bytes']);
    const value = settings.get('max.message.bytes');
    return value === undefined ? undefined : Number(value);
  } catch (error) {
    if (protocolErrorOf(error) === 'TOPIC_AUTHORIZATION_FAILED') return undefined;
    throw error;
  }
}

/** Methods that only the doctor needs. */
export type ClusterInspector = Pick<
  KafkaAdmin,
  'connect' | 'brokers' | 'group' | 'tryTransactionalId' | 'tryCreate'
>;
