/** Questions to the cluster outside the data path (ClusterAdmin). */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import type {
  ClusterAdmin,
  CommittedOffset,
  PartitionRange,
  TopicDescription,
  TopicSpec,
} from '../../core/ports/kafka.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { ClusterConnection } from '../client/cluster-connection.ts';
import { Client, type ConnectOptions } from '../client/connect.ts';
import { explain, protocolErrorOf } from '../client/errors.ts';
import type { Asked } from '../client/missing-acl.ts';
import { ConfigResourceTypes } from '../kafkajs/patches.ts';
import type { WritableTopic } from '../producer/shard-producer.ts';
import { toOffset } from '../records/decode-batch.ts';
import {
  EARLIEST,
  LATEST,
  listOffsets,
  listOffsetsPatiently,
  READ_COMMITTED,
  READ_UNCOMMITTED,
  withLeader,
} from './list-offsets.ts';

const RETRY = { initialRetryTime: 100, multiplier: 2, maxRetryTime: 2_000, retries: 4 };
const CREATE_TIMEOUT_MS = 15_000;
const CLOSE_GRACE_MS = 500;
/** As long as Java's producers keep their metadata: partitions added to an output topic are used after this. */
const WRITABLE_MAX_AGE_MS = 5 * 60_000;

/** How often a topic just created is looked for, until every broker's metadata has it. */
const VISIBLE_POLL_MS = 50;

interface Connection {
  readonly client: Client;
  readonly admin: Admin;
  readonly ready: Promise<void>;
  /** Questions under way. */
  asked: number;
}

export class KafkaAdmin implements ClusterAdmin {
  readonly #connect: ConnectOptions;
  readonly #logger: Logger;
  #connection: Connection | undefined;
  /** For what kafkajs's admin client does not offer. */
  readonly #cluster: ClusterConnection;
  #closed = false;
  readonly #writable = new Map<
    string,
    { readonly facts: Promise<WritableTopic>; readonly untilMs: number }
  >();

  constructor(connect: ConnectOptions, logger: Logger) {
    this.#connect = connect;
    this.#logger = logger;
    this.#cluster = new ClusterConnection(connect, logger);
  }

  async brokerCount(): Promise<number> {
    const { brokers } = await this.#ask('describe the cluster', {}, (admin) =>
      admin.describeCluster(),
    );
    return brokers.length;
  }

  async describeTopic(topic: string): Promise<TopicDescription | undefined> {
    const asked = { topic, operation: this.#connect.uses?.get(topic) };
    return this.#ask(`describe topic ${topic}`, asked, async (admin) => {
      try {
        const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
        const partitions = topics.find(({ name }) => name === topic)?.partitions ?? [];
        asked.operation = 'DESCRIBE_CONFIGS';
        const { resources } = await admin.describeConfigs({
          includeSynonyms: false,
          resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
        });
        const entries = resources[0]?.configEntries ?? [];
        return {
          partitions: partitions.length,
          replicationFactor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
          settings: new Map(
            entries.map(({ configName, configValue }) => [configName, configValue]),
          ),
        };
      } catch (error) {
        if (protocolErrorOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
        throw error;
      }
    });
  }

  async createTopic(topic: string, spec: TopicSpec): Promise<void> {
    await this.#ask(`create topic ${topic}`, { topic, operation: 'CREATE' }, async (admin) => {
      const deadlineMs = performance.now() + CREATE_TIMEOUT_MS;
      const settings = [...spec.settings].map(([name, value]) => ({ name, value }));
      const { partitions: numPartitions, replicationFactor } = spec;
      // kafkajs's own wait for leaders fails when metadata lag behind the creation.
      await admin.createTopics({
        waitForLeaders: false,
        timeout: CREATE_TIMEOUT_MS,
        topics: [{ topic, numPartitions, replicationFactor, configEntries: settings }],
      });
      for (;;) {
        const missing = await admin.fetchTopicMetadata({ topics: [topic] }).then(
          ({ topics }) => topics[0]?.partitions.every(({ leader }) => leader >= 0) !== true,
          (error: unknown) => {
            if (
              protocolErrorOf(error) !== 'UNKNOWN_TOPIC_OR_PARTITION' ||
              performance.now() > deadlineMs
            )
              throw error;
            return true;
          },
        );
        if (!missing) return;
        if (performance.now() > deadlineMs)
          throw new Error(`it has no leaders after ${CREATE_TIMEOUT_MS} ms`);
        await sleep(VISIBLE_POLL_MS);
      }
    });
  }

  async ranges(
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, PartitionRange>> {
    const question = { topic, partitions, isolationLevel: READ_COMMITTED };
    try {
      if (this.#closed) throw new Error('the connection is closed');
      const starts = await listOffsetsPatiently(this.#cluster, {
        ...question,
        timestamp: EARLIEST,
      });
      const ends = await listOffsetsPatiently(this.#cluster, { ...question, timestamp: LATEST });
      const range = (of: number) => ({
        start: found(starts, of, topic),
        end: found(ends, of, topic),
      });
      return new Map(partitions.map((partition) => [partition, range(partition)]));
    } catch (error) {
      if (protocolErrorOf(error) !== 'LEADER_NOT_AVAILABLE') await this.#cluster.close();
      throw this.#explained(`list the offsets of topic ${topic}`, error, this.#using(topic));
    }
  }

  async ends(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    for (let again = true; ; again = false) {
      try {
        if (this.#closed) throw new Error('the connection is closed');
        const cluster = await this.#cluster.cluster();
        const led = await withLeader(cluster, topic, partitions);
        const question = {
          topic,
          partitions: led,
          timestamp: LATEST,
          isolationLevel: READ_UNCOMMITTED,
        };
        const known = await listOffsets(cluster, question);
        return new Map(led.map((partition) => [partition, found(known, partition, topic)]));
      } catch (error) {
        // A leader may have moved. What fails twice begins afresh: a topic that is gone would fail all that come after it.
        if (again && !this.#closed) await this.#cluster.refresh();
        else {
          await this.#cluster.close();
          throw this.#explained(`ask for the end of topic ${topic}`, error, this.#using(topic));
        }
      }
    }
  }

  async committed(
    group: string,
    topic: string,
    partitions: readonly number[],
  ): Promise<ReadonlyMap<number, CommittedOffset>> {
    const asked = { ...this.#using(topic), group, groupOperation: this.#connect.groupUse };
    const all = await this.#ask(`read the offsets of group ${group}`, asked, (admin) =>
      admin.fetchOffsets({ groupId: group, topics: [topic] }),
    );
    const known = new Map(
      all
        .flatMap((one) => one.partitions)
        .map(({ partition, offset, metadata }) => [
          partition,
          { offset: Number(offset) < 0 ? null : toOffset(offset), metadata: metadata ?? '' },
        ]),
    );
    return new Map(partitions.map((partition) => [partition, found(known, partition, topic)]));
  }

  /** Partitions of a topic; a few minutes old at most. Rejects when it does not exist. */
  async partitionCount(topic: string): Promise<number> {
    return (await this.writable(topic)).partitions;
  }

  /** Facts about a topic that a producer needs, at most a few minutes old. Rejects when the topic does not exist. */
  writable(topic: string): Promise<WritableTopic> {
    const nowMs = performance.now();
    const kept = this.#writable.get(topic);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.facts;
    const facts = this.#ask(`look up topic ${topic}`, this.#using(topic), async (admin) => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      const partitions = topics[0]?.partitions.length ?? 0;
      return { partitions, maxMessageBytes: await maxMessageBytes(admin, topic) };
    });
    this.#writable.set(topic, { facts, untilMs: nowMs + WRITABLE_MAX_AGE_MS });
    facts.catch(() => this.#writable.delete(topic));
    return facts;
  }

  /** How the group stands, in Kafka's words (Stable, PreparingRebalance, Empty, Dead), and how many members it has. */
  async groupState(group: string): Promise<{ readonly state: string; readonly members: number }> {
    return this.#ask(
      `describe group ${group}`,
      { group, groupOperation: this.#connect.groupUse },
      async (admin) => {
        const { groups } = await admin.describeGroups([group]);
        return { state: groups[0]?.state ?? 'Dead', members: groups[0]?.members.length ?? 0 };
      },
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#disconnect(this.#connection), this.#cluster.close()]);
  }

  #using(topic: string): Asked {
    return { topic, operation: this.#connect.uses?.get(topic) };
  }

  async #ask<T>(what: string, asked: Asked, question: (admin: Admin) => Promise<T>): Promise<T> {
    const connection = this.#connected();
    connection.asked++;
    try {
      await connection.ready;
      return await question(connection.admin);
    } catch (error) {
      // A kafkajs client asks about every topic it ever heard of, and fails for all when one of them is gone: begin afresh.
      if (this.#connection === connection) this.#connection = undefined;
      throw this.#explained(what, error, asked);
    } finally {
      // Not before the other questions on it are answered: cut off, they would fail with this one.
      if (--connection.asked === 0 && this.#connection !== connection)
        void this.#disconnect(connection);
    }
  }

  #explained(what: string, error: unknown, asked: Asked): Error {
    const why = explain(error, { ...asked, principal: this.#connect.security?.principal });
    return new Error(`cannot ${what}: ${why}`, { cause: error });
  }

  #connected(): Connection {
    if (this.#closed) throw new Error('the connection is closed');
    if (this.#connection === undefined) {
      const client = new Client(this.#connect, this.#logger, RETRY);
      const admin = client.kafka.admin();
      this.#connection = { client, admin, ready: admin.connect(), asked: 0 };
    }
    return this.#connection;
  }

  async #disconnect(connection: Connection | undefined): Promise<void> {
    if (connection === undefined) return;
    if (this.#connection === connection) this.#connection = undefined;
    await connection.client.close(() => connection.admin.disconnect(), CLOSE_GRACE_MS);
  }
}

/** undefined when it may not be read. */
async function maxMessageBytes(admin: Admin, topic: string): Promise<number | undefined> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [
        { type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['max.message.bytes'] },
      ],
    });
    const value = resources[0]?.configEntries[0]?.configValue;
    return value === undefined ? undefined : Number(value);
  } catch (error) {
    if (protocolErrorOf(error) === 'TOPIC_AUTHORIZATION_FAILED') return undefined;
    throw error;
  }
}

function found<T>(known: ReadonlyMap<number, T>, partition: number, topic: string): T {
  const value = known.get(partition);
  if (value === undefined) throw new RangeError(`topic ${topic} has no partition ${partition}`);
  return value;
}
