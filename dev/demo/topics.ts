/** Topics of the demo, with the same names as in `config/demo.yaml`. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceRecord } from '../../src/core/record.ts';
import { connectKafka } from '../../src/kafka/index.ts';
import { Kafka, logLevel } from '../../src/kafka/kafkajs/patches.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { partitionOf } from '../kafka/partitioner.ts';
import { RecordProducer } from '../kafka/send-records.ts';
import type { DemoRecord } from './events.ts';
import type { Terminal } from './ledger.ts';

export const PARTITIONS = 3;
const POLL_MS = 100;

export const topicsWith = (prefix: string) => ({
  prefix,
  source: `${prefix}emails`,
  decisions: `${prefix}emails.decisions`,
  deadLetters: `${prefix}emails.dead-letters`,
});
export type Topics = ReturnType<typeof topicsWith>;

/** Deletes the topics and groups of the demo. */
export async function deleteTopics(brokers: readonly string[], prefix: string): Promise<void> {
  // Without a prefix, topics with these names may belong to other users.
  if (prefix === '') return;
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(prefix));
    if (topics.length > 0) await admin.deleteTopics({ topics });
    const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId);
    const own = groups.filter((group) => group.startsWith(prefix));
    if (own.length > 0) await admin.deleteGroups(own);
  } finally {
    await admin.disconnect();
  }
}

/** Opens a producer for the source. @param onSent called with each acknowledged record and its `<partition>-<offset>` */
export async function openProducer(
  brokers: readonly string[],
  { source }: Topics,
  onSent: (place: string, record: DemoRecord) => void,
) {
  // Idempotent: a retried send must not produce a record twice.
  const producer = new RecordProducer(brokers);
  await producer.begin(source, []);
  return {
    async send(records: readonly DemoRecord[]): Promise<void> {
      const byPartition = Map.groupBy(records, ({ key }) =>
        key === null ? 0 : partitionOf(key, PARTITIONS),
      );
      for (const [partition, group] of byPartition) {
        const offsets = await producer.send(source, partition, group);
        for (const [index, record] of group.entries())
          onSent(`${partition}-${offsets[index]}`, record);
      }
    },
    close: () => producer.close(),
  };
}

/** Reads the committed records of the outputs from the beginning, without a group. */
export function openReader(
  brokers: readonly string[],
  { decisions, deadLetters }: Topics,
  onRecord: (record: Terminal) => void,
) {
  const kafka = connectKafka({ brokers, clientId: 'demo' }, createLogger({ level: 'silent' }));
  const scan = kafka.scan();
  /** Next offset by topic and partition. */
  const positions = new Map<string, number>();

  async function readToEnd(signal: AbortSignal): Promise<void> {
    for (const topic of [decisions, deadLetters])
      for (const [partition, { start, stable }] of await scan.bounds(topic)) {
        const at = `${topic}-${partition}`;
        const from = positions.get(at) ?? start;
        if (from >= stable) continue;
        const take = ({ offset, value, headers }: SourceRecord) => {
          // A failed read is repeated, and must not deliver any record twice.
          positions.set(at, offset + 1);
          onRecord({ isDecision: topic === decisions, value, headers });
        };
        const range = { partition, from, until: stable };
        await scan.read(topic, range, ({ records }) => records.forEach(take), signal);
        positions.set(at, stable);
      }
  }

  return {
    /** Resolves when everything in the topics at the time of the call was read. */
    readToEnd,
    /** Reads until the signal. Repeats failed reads: the broker may be frozen or restarting. */
    async follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await readToEnd(signal).catch(() => undefined);
        await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
      }
    },
    async close(): Promise<void> {
      await scan.close();
      await kafka.close();
    },
  };
}
