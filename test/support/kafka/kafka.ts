/**
 * A real Kafka for a test file.
 *
 *   const kafka = await testKafka();                 // shared with other files: use topics of your own
 *   const topic = await kafka.createTopic('events', { partitions: 6 });
 *   await kafka.write(topic, [{ partition: 2, key: 'k', value: 'v' }]);
 *   const records = await kafka.readAll(topic);      // read_committed
 */
import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import type { Admin } from 'kafkajs';
import { existingCluster } from '../../../dev/kafka/existing-cluster.ts';
import { type KafkaOptions, type LocalKafka, startKafka } from '../../../dev/kafka/start.ts';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import { ClusterConnection, coordinatorOf } from '../../../src/kafka/cluster-connection.ts';
import { Kafka, logLevel } from '../../../src/kafka/kafkajs/patches.ts';
import { eventually } from '../eventually.ts';
import { RecordingLogger } from '../memory/telemetry/recording-telemetry.ts';
import { type ReadRecord, TopicReader, type TopicReaderOptions } from '../stack/topic-reader.ts';
import { type NewRecord, TopicWriter } from '../stack/topic-writer.ts';

export type { LocalKafka } from '../../../dev/kafka/start.ts';
export type { ReadRecord } from '../stack/topic-reader.ts';
export type { NewRecord } from '../stack/topic-writer.ts';

export interface TopicOptions {
  /** Default: 1. */
  readonly partitions?: number;
  /** Ids of the brokers that store each partition; replaces `partitions`. */
  readonly replicas?: readonly (readonly number[])[];
  /** Topic settings by Kafka's names. */
  readonly settings?: Readonly<Record<string, string>>;
}

export class TestKafka {
  readonly brokers: string[];
  /** Connects at the first use. */
  readonly #admin: Admin;
  #connected: Promise<void> | undefined;
  readonly #writer: TopicWriter;
  readonly #readers: TopicReader[] = [];

  constructor(brokers: readonly string[]) {
    this.brokers = [...brokers];
    this.#writer = new TopicWriter(brokers);
    this.#admin = new Kafka({
      brokers: this.brokers,
      clientId: 'test-admin',
      logLevel: logLevel.NOTHING,
      connectionTimeout: 5_000,
      requestTimeout: 5_000,
      retry: { initialRetryTime: 50, maxRetryTime: 1_000, retries: 20 },
    }).admin();
  }

  /** Returns kafkajs's admin client, connected. */
  async admin(): Promise<Admin> {
    this.#connected ??= this.#admin.connect();
    await this.#connected;
    return this.#admin;
  }

  /** Creates a topic `<prefix>-<random>` and waits for its leaders. @returns its name. */
  async createTopic(
    prefix: string,
    { replicas, partitions = replicas?.length ?? 1, settings = {} }: TopicOptions = {},
  ): Promise<string> {
    const topic = uniqueName(prefix);
    const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
    const admin = await this.admin();
    await admin.createTopics({
      // If true, kafkajs fails if a broker does not know the new topic yet.
      waitForLeaders: false,
      topics: [
        {
          topic,
          configEntries,
          ...(replicas === undefined
            ? { numPartitions: partitions }
            : {
                replicaAssignment: replicas.map((brokers, partition) => ({
                  partition,
                  replicas: [...brokers],
                })),
              }),
        },
      ],
    });
    const led = async () => {
      const metadata = await admin.fetchTopicMetadata({ topics: [topic] });
      const known = metadata.topics[0]?.partitions ?? [];
      return known.length === partitions && known.every(({ leader }) => leader >= 0);
    };
    await eventually(`topic ${topic} has its leaders`, led);
    return topic;
  }

  /** Writes records to their partitions. @returns their coordinates, in the given order */
  write(topic: string, records: readonly NewRecord[]): Promise<SourceCoordinate[]> {
    return this.#writer.write(topic, records);
  }

  /** Writes records in one transaction; see TopicWriter.writeTransaction. */
  writeTransaction(
    ...args: Parameters<TopicWriter['writeTransaction']>
  ): Promise<SourceCoordinate[]> {
    return this.#writer.writeTransaction(...args);
  }

  /** Returns all records that a read_committed consumer currently sees in a topic. */
  async readAll(
    topic: string,
    options?: TopicReaderOptions,
    before: (reader: TopicReader) => Promise<unknown> = async () => undefined,
  ): Promise<ReadRecord[]> {
    const reader = new TopicReader(this.brokers, topic, options);
    try {
      await before(reader);
      return await reader.readToEnd();
    } finally {
      await reader.close();
    }
  }

  /**
   * Reads like `readAll` once all transactions are decided. The markers of a commit arrive slightly after its
   * response.
   */
  async readDecided(topic: string): Promise<ReadRecord[]> {
    return await this.readAll(topic, {}, (reader) =>
      eventually(`all transactions in ${topic} are decided`, () => reader.isStable()),
    );
  }

  /** Returns a reader that continues where it stopped. `close` of this object also closes the reader. */
  reader(topic: string, options?: TopicReaderOptions): TopicReader {
    const reader = new TopicReader(this.brokers, topic, options);
    this.#readers.push(reader);
    return reader;
  }

  /** Returns the index of the broker that coordinates a group, or the transactions of an id. */
  async coordinator(type: 'group' | 'transaction', id: string): Promise<number> {
    const { brokers } = this;
    const connection = new ClusterConnection({ brokers, clientId: 'test' }, new RecordingLogger());
    try {
      const find = connection.request('find', {}, (cluster) => coordinatorOf(cluster, type, id));
      return Number((await find).nodeId) - 1;
    } finally {
      await connection.close();
    }
  }

  /** Closes every connection. Topics stay. */
  async close(): Promise<void> {
    await Promise.all(this.#readers.splice(0).map((reader) => reader.close()));
    await this.#writer.close();
    if (this.#connected !== undefined) await this.#admin.disconnect();
    this.#connected = undefined;
  }
}

/** Returns a unique name for a topic, group or transactional id on a shared cluster. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

/** Client of a cluster, together with the cluster: its processes, if the tests started it, and Kafka's tools. */
type KafkaWithCluster = TestKafka & { readonly cluster: LocalKafka };

/** Broker that `npm test` starts for all files. A file that runs alone gets its own broker, which stops with the file. */
export async function testKafka(): Promise<KafkaWithCluster> {
  const shared = process.env.TEST_KAFKA_BROKERS;
  if (shared === undefined || shared === '') return await exclusiveKafka();
  const cluster = existingCluster(shared);
  const kafka = Object.assign(new TestKafka(cluster.brokers), { cluster });
  after(() => kafka.close());
  return kafka;
}

/** Cluster of one test file that restarts brokers, needs three brokers or sets broker properties. Stops with the file. */
export async function exclusiveKafka(options: KafkaOptions = {}): Promise<KafkaWithCluster> {
  const cluster = await startKafka(options);
  const kafka = Object.assign(new TestKafka(cluster.brokers), { cluster });
  after(async () => {
    await kafka.close();
    await cluster.stop();
  });
  return kafka;
}
