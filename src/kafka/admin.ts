/** Questions to the cluster outside the data path (ClusterAdmin). */
import type { Admin } from 'kafkajs';
import type { ClusterAdmin, CommittedOffset, PartitionRange, TopicDescription, TopicSpec } from '../core/ports/kafka.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { Client, type ConnectOptions } from './connect.ts';
import { explain, protocolErrorOf } from './explain.ts';
import { ConfigResourceTypes } from './kafkajs-fixes.ts';
import { toOffset } from './offsets.ts';

const RETRY = { initialRetryTime: 100, multiplier: 2, maxRetryTime: 2_000, retries: 6 };
const CREATE_TIMEOUT_MS = 15_000;
const CLOSE_GRACE_MS = 500;
/** As long as Java's producers keep their metadata: partitions added to an output topic are used after this. */
const PARTITION_COUNT_MAX_AGE_MS = 5 * 60_000;

export class KafkaAdmin implements ClusterAdmin {
  readonly #client: Client;
  readonly #admin: Admin;
  #connected: Promise<void> | undefined;
  readonly #counts = new Map<string, { readonly count: Promise<number>; readonly untilMs: number }>();

  constructor(connect: ConnectOptions, logger: Logger) {
    this.#client = new Client(connect, logger, RETRY);
    this.#admin = this.#client.kafka.admin();
  }

  async brokerCount(): Promise<number> {
    const { brokers } = await this.#ask('describe the cluster', (admin) => admin.describeCluster());
    return brokers.length;
  }

  async describeTopic(topic: string): Promise<TopicDescription | undefined> {
    return this.#ask(`describe topic ${topic}`, async (admin) => {
      try {
        const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
        const partitions = topics.find(({ name }) => name === topic)?.partitions ?? [];
        const { resources } = await admin.describeConfigs({
          includeSynonyms: false,
          resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
        });
        const entries = resources[0]?.configEntries ?? [];
        return {
          partitions: partitions.length,
          replicationFactor: Math.min(...partitions.map(({ replicas }) => replicas.length)),
          settings: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
        };
      } catch (error) {
        if (protocolErrorOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
        throw error;
      }
    });
  }

  async createTopic(topic: string, spec: TopicSpec): Promise<void> {
    await this.#ask(`create topic ${topic}`, (admin) =>
      admin.createTopics({
        waitForLeaders: true,
        timeout: CREATE_TIMEOUT_MS,
        topics: [
          {
            topic,
            numPartitions: spec.partitions,
            replicationFactor: spec.replicationFactor,
            configEntries: [...spec.settings].map(([name, value]) => ({ name, value })),
          },
        ],
      }),
    );
  }

  async ranges(topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, PartitionRange>> {
    const all = await this.#ask(`list the offsets of topic ${topic}`, (admin) => admin.fetchTopicOffsets(topic));
    const known = new Map(all.map((one) => [one.partition, { start: toOffset(one.low), end: toOffset(one.high) }]));
    return new Map(partitions.map((partition) => [partition, found(known, partition, topic)]));
  }

  async committed(group: string, topic: string, partitions: readonly number[]): Promise<ReadonlyMap<number, CommittedOffset>> {
    const all = await this.#ask(`read the offsets of group ${group}`, (admin) =>
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

  /** Partitions of a topic that is written to; a few minutes old at most. Rejects when the topic does not exist. */
  partitionCount(topic: string): Promise<number> {
    const nowMs = Date.now();
    const kept = this.#counts.get(topic);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.count;
    const count = this.#ask(`look up topic ${topic}`, async (admin) => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return topics[0]?.partitions.length ?? 0;
    });
    this.#counts.set(topic, { count, untilMs: nowMs + PARTITION_COUNT_MAX_AGE_MS });
    count.catch(() => this.#counts.delete(topic));
    return count;
  }

  async close(): Promise<void> {
    await this.#client.close(() => this.#admin.disconnect(), CLOSE_GRACE_MS);
  }

  async #ask<T>(what: string, question: (admin: Admin) => Promise<T>): Promise<T> {
    try {
      this.#connected ??= this.#admin.connect();
      await this.#connected;
    } catch (error) {
      this.#connected = undefined;
      throw new Error(`cannot ${what}: ${explain(error)}`, { cause: error });
    }
    try {
      return await question(this.#admin);
    } catch (error) {
      throw new Error(`cannot ${what}: ${explain(error)}`, { cause: error });
    }
  }
}

function found<T>(known: ReadonlyMap<number, T>, partition: number, topic: string): T {
  const value = known.get(partition);
  if (value === undefined) throw new RangeError(`topic ${topic} has no partition ${partition}`);
  return value;
}
