/** Worlds over a real broker. One broker per test file, or the one that KAFKA_BROKERS names. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LocalKafka, startKafka } from '../../dev/kafka/start.ts';
import type { ShardGroup, SourceReader } from '../../src/core/ports/kafka.ts';
import type { SourceRecord } from '../../src/core/record.ts';
import type { Logger } from '../../src/core/ports/telemetry.ts';
import { Client } from '../../src/kafka/connect.ts';
import { connectKafka, type GroupOptions } from '../../src/kafka/index.ts';
import type { KafkaWorld, WorldOptions } from './kafka-world.ts';

const PATIENCE_MS = 20_000;

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** Keeps what was logged. */
export function recordingLogger(lines: LogLine[] = []): Logger & { readonly lines: LogLine[] } {
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } });
  };
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => recordingLogger(lines),
  };
}

/** A world over a real broker, with what only a real one has. */
export interface RealWorld extends KafkaWorld {
  readonly brokers: readonly string[];
  readonly logger: ReturnType<typeof recordingLogger>;
  groupWith(options: Partial<GroupOptions>): ShardGroup;
}

export class RealKafka {
  readonly kafka: LocalKafka;

  private constructor(kafka: LocalKafka) {
    this.kafka = kafka;
  }

  static async start(): Promise<RealKafka> {
    return new RealKafka(await startKafka());
  }

  async stop(): Promise<void> {
    await this.kafka.stop();
  }

  async world(options: WorldOptions): Promise<RealWorld> {
    const { brokers } = this.kafka;
    const id = randomUUID().slice(0, 8);
    const topics = { group: `group-${id}`, source: `source-${id}`, journal: `journal-${id}`, output: `output-${id}` };
    const logger = recordingLogger();
    const connection = connectKafka({ brokers, clientId: `test-${id}` }, logger);
    const { admin } = connection;
    const by = new Client({ brokers, clientId: 'by-hand' }, logger, { retries: 5 });
    const producer = by.kafka.producer();
    const adminByHand = by.kafka.admin();
    const opened: { stop?(): Promise<void>; close?(): Promise<void> }[] = [];
    const names = { groupId: topics.group, sourceTopic: topics.source, journalTopic: topics.journal };

    const close = async (): Promise<void> => {
      await Promise.all(opened.map((one) => one.stop?.() ?? one.close?.()));
      await by.close(async () => {
        await producer.disconnect();
        await adminByHand.deleteTopics({ topics: [topics.source, topics.journal, topics.output] });
        await adminByHand.disconnect();
      }, 2_000);
      await connection.close();
    };

    try {
      const plain = { replicationFactor: 1, settings: new Map<string, string>() };
      const compact = new Map([['cleanup.policy', 'compact']]);
      await admin.createTopic(topics.source, { ...plain, partitions: options.sourcePartitions });
      await admin.createTopic(topics.output, { ...plain, partitions: options.outputPartitions ?? 3 });
      await admin.createTopic(topics.journal, { ...plain, partitions: options.shards, settings: compact });
      await producer.connect();
      await adminByHand.connect();
    } catch (error) {
      await close();
      throw error;
    }

    const groupWith = (given: Partial<GroupOptions>): ShardGroup => {
      const group = connection.group({
        ...names,
        sessionTimeoutMs: 6_000,
        heartbeatMs: 500,
        metadataMaxAgeMs: 500,
        maxWaitMs: 50,
        ...given,
      });
      opened.push(group);
      return group;
    };
    const sourceReader = (topic = topics.source): SourceReader => {
      const reader = connection.sourceReader({ topic });
      opened.push(reader);
      return reader;
    };

    return {
      topics,
      brokers,
      logger,
      admin,
      groupWith,
      group: () => groupWith({}),
      producers: () => {
        const producers = connectKafka({ brokers, clientId: `test-${id}` }, logger).producers(names);
        return {
          open: (shard) => {
            const one = producers.open(shard);
            opened.push(one);
            return one;
          },
        };
      },
      sourceReader: () => sourceReader(),
      produce: async (topic, partition, records) => {
        const messages = records.map(({ key, value, headers }) => ({ key, value, partition, headers: { ...headers } as never }));
        await producer.send({ topic, messages });
      },
      deleteRecordsBefore: async (topic, partition, offset) => {
        // Makes kafkajs's admin learn of the topic, which deleting does not do by itself.
        await adminByHand.fetchTopicOffsets(topic);
        await adminByHand.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
      },
      addPartitions: async (topic, count) => {
        await adminByHand.createPartitions({ topicPartitions: [{ topic, count }] });
      },
      readAll: async (topic) => {
        const partitions = (await admin.describeTopic(topic))?.partitions ?? 0;
        const ranges = await admin.ranges(
          topic,
          Array.from({ length: partitions }, (_, partition) => partition),
        );
        const reader = sourceReader(topic);
        const found: SourceRecord[] = [];
        for (const [partition, { start, end }] of ranges) {
          const range = { partition, from: start, to: end - 1 };
          await reader.read(range, (records) => void found.push(...records), AbortSignal.timeout(PATIENCE_MS));
        }
        return found;
      },
      settle: async (promise) => {
        const late = new AbortController();
        const timeout = sleep(PATIENCE_MS, undefined, { signal: late.signal }).then(() => {
          throw new Error(`nothing happened for ${PATIENCE_MS} ms`);
        });
        try {
          return await Promise.race([promise, timeout]);
        } finally {
          timeout.catch(() => undefined);
          late.abort();
        }
      },
      until: async (what, condition) => {
        const deadlineMs = Date.now() + PATIENCE_MS;
        while (!condition()) {
          if (Date.now() > deadlineMs) throw new Error(`waited ${PATIENCE_MS} ms in vain until ${what}`);
          await sleep(10);
        }
      },
      close,
    };
  }
}
