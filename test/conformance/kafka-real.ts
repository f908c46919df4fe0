/** Worlds on a real broker. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BufferPool } from '../../src/core/bytes/buffer-pool.ts';
import type { ShardGroup } from '../../src/core/ports/kafka.ts';
import { connectKafka, type GroupOptions, type ProducersOptions } from '../../src/kafka/index.ts';
import { eventually } from '../support/eventually.ts';
import { type TestKafka, uniqueName } from '../support/kafka/kafka.ts';
import { RecordingLogger } from '../support/memory/telemetry/recording-telemetry.ts';
import type { KafkaWorld, WorldOptions } from './kafka-world.ts';

const PATIENCE_MS = 20_000;

/** World on a real broker, with features that only the real adapter has. */
export interface RealWorld extends KafkaWorld {
  readonly logger: RecordingLogger;
  /** Buffer pool of all its producers. */
  readonly pool: BufferPool;
  groupWith(options: Partial<GroupOptions>): ShardGroup;
  producersWith(options: Partial<ProducersOptions>): ReturnType<KafkaWorld['producers']>;
}

/** @param topicSettings settings of the source topic, by Kafka's names */
export async function realWorld(
  kafka: TestKafka,
  options: WorldOptions,
  topicSettings: Readonly<Record<string, string>> = {},
): Promise<RealWorld> {
  const [group, source, journal, output] = ['group', 'source', 'journal', 'output'].map(
    uniqueName,
  ) as [string, string, string, string];
  const topics = { group, source, journal, output };
  const names = { groupId: group, sourceTopic: source, journalTopic: journal };
  const logger = new RecordingLogger();
  const pool = new BufferPool(4 * 1024 * 1024);
  const opened: { stop?(): Promise<void>; close?(): Promise<void> }[] = [];
  const connect = () => {
    const connection = connectKafka({ brokers: kafka.brokers, clientId: group }, logger);
    opened.push(connection);
    return connection;
  };
  const connection = connect();
  const { admin } = connection;

  const settings = new Map(Object.entries(topicSettings));
  await admin.createTopic(source, {
    partitions: options.sourcePartitions,
    replicationFactor: 1,
    settings,
  });
  await admin.createTopic(output, {
    partitions: options.outputPartitions ?? 3,
    replicationFactor: 1,
    settings: new Map(),
  });
  const compact = new Map([['cleanup.policy', 'compact']]);
  await admin.createTopic(journal, {
    partitions: options.shards,
    replicationFactor: 1,
    settings: compact,
  });

  const groupWith = (given: Partial<GroupOptions>): ShardGroup => {
    const quick = {
      sessionTimeoutMs: 6_000,
      heartbeatMs: 500,
      metadataMaxAgeMs: 500,
      maxWaitMs: 50,
    };
    const member = connection.group({ ...names, ...quick, ...given });
    opened.unshift(member);
    return member;
  };
  const producersWith = (given: Partial<ProducersOptions>) => {
    const producers = connect().producers({ ...names, pool, ...given });
    return {
      open: (shard: number) => {
        const producer = producers.open(shard);
        opened.unshift(producer);
        return producer;
      },
    };
  };

  return {
    topics,
    logger,
    pool,
    admin,
    groupWith,
    producersWith,
    group: () => groupWith({}),
    producers: () => producersWith({}),
    controlProducer: () => {
      const shards = Array.from({ length: options.shards }, (_, shard) => shard);
      const producer = connect().controlProducer({ ...names, pool }, shards);
      opened.unshift(producer);
      return producer;
    },
    replayProducer: () => {
      const { groupId, sourceTopic: deadLetters } = names;
      const producer = connect().replayProducer({ groupId, deadLetters, pool });
      opened.unshift(producer);
      return producer;
    },
    sourceReader: () => {
      const reader = connection.sourceReader({ topic: source });
      opened.unshift(reader);
      return reader;
    },
    produce: async (topic, partition, records) => {
      await kafka.write(
        topic,
        records.map((record) => ({ ...record, partition })),
      );
    },
    deleteRecordsBefore: async (topic, partition, offset) => {
      const byHand = await kafka.admin();
      // Loads the topic's metadata into kafkajs's admin client, because deleting records does not load it.
      await byHand.fetchTopicOffsets(topic);
      await byHand.deleteTopicRecords({
        topic,
        partitions: [{ partition, offset: String(offset) }],
      });
    },
    addPartitions: async (topic, count) => {
      const admin = await kafka.admin();
      await admin.createPartitions({ topicPartitions: [{ topic, count }] });
      await eventually(`${topic} has ${count} partitions with a leader each`, async () => {
        const known =
          (await admin.fetchTopicMetadata({ topics: [topic] })).topics[0]?.partitions ?? [];
        return known.length === count && known.every(({ leader }) => leader >= 0);
      });
    },
    readAll: async (topic) => {
      const reader = kafka.reader(topic);
      // A transaction that a test leaves open is never decided. After the timeout, the currently visible
      // records are returned.
      await eventually(`all transactions in ${topic} are decided`, () => reader.isStable(), {
        deadlineMs: 1_000,
      }).catch(() => undefined);
      return reader.readToEnd();
    },
    settle: async (promise) => {
      const done = new AbortController();
      const late = sleep(PATIENCE_MS, undefined, { signal: done.signal }).then(() => {
        throw new Error(`nothing happened for ${PATIENCE_MS} ms`);
      });
      late.catch(() => undefined);
      try {
        return await Promise.race([promise, late]);
      } finally {
        done.abort();
      }
    },
    until: async (what, condition) => {
      const deadlineMs = Date.now() + PATIENCE_MS;
      while (!condition()) {
        if (Date.now() > deadlineMs)
          throw new Error(`waited in vain (${PATIENCE_MS} ms) until ${what}`);
        await sleep(10);
      }
    },
    close: async () => {
      for (const one of opened.splice(0)) await (one.stop?.() ?? one.close?.());
      await eventually('the buffers of all requests are returned', () => pool.lentBytes === 0);
    },
  };
}
