/** Delay of urgent events while the same pipeline reviews an archive. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestKafka } from '../support/kafka/kafka.ts';
import { RawProducer } from '../support/kafka/raw-producer.ts';
import { TopicReader } from '../support/stack/topic-reader.ts';
import { realisticEvents } from './events.ts';
import { type Load, write, writeAll } from './load.ts';
import { type ConnectorSetup, withConnector } from './rounds.ts';

const ARCHIVE = 1_000_000;
const LIVE_PER_SECOND = 50;
const TICK_MS = 100;
/** Bytes per second that the storage accepts over all uploads. */
const UPLOAD_BYTES_PER_SECOND = 4_000_000;

export interface Delays {
  readonly medianMs: number;
  readonly p99Ms: number;
  readonly decided: number;
  /** Number of archive records decided per second. */
  readonly archivePerSecond: number;
}

/**
 * Writes the archive, starts the connector, and writes live events for `seconds`.
 * @returns delays from the timestamp of a live event to its decision; undecided events count with their current age
 */
export async function measureLanes(
  kafka: TestKafka,
  directory: string,
  setup: Omit<ConnectorSetup, 'topic' | 'records'>,
  seconds: number,
): Promise<Delays> {
  const topic = await kafka.createTopic('lanes', { partitions: setup.partitions });
  const load = (type: string): Load => {
    const record = realisticEvents();
    return {
      records: ARCHIVE,
      partitions: setup.partitions,
      codec: 'none',
      record: (n) => {
        const { key, value } = record(n);
        return { key, value: JSON.stringify({ ...JSON.parse(String(value)), type }) };
      },
    };
  };
  await writeAll(kafka.brokers, topic, load('archive'));
  const uploadBytesPerSecond = UPLOAD_BYTES_PER_SECOND;
  const whole = { ...setup, topic, records: 0, uploadBytesPerSecond };
  return await withConnector(kafka, directory, whole, async (stack, replica) => {
    await replica.logged('owns the shard');
    const reader = new TopicReader(kafka.brokers, stack.topics.decisions);
    const producer = new RawProducer(kafka.brokers);
    const live = load('live');
    const delays: number[] = [];
    const began = Date.now();
    let archive = 0;
    let written = 0;
    while (Date.now() - began < seconds * 1_000) {
      const due = Math.floor(((Date.now() - began) * LIVE_PER_SECOND) / 1_000);
      await write(producer, topic, live, written, due);
      written = due;
      await reader.forEachToEnd(({ value }) => {
        const decision = JSON.parse(String(value)) as {
          batch: { type: string };
          source: { timestamp: string };
        };
        if (decision.batch.type === 'archive') archive++;
        else delays.push(Date.now() - Date.parse(decision.source.timestamp));
      });
      await sleep(TICK_MS);
    }
    await producer.close();
    await reader.close();
    const decided = delays.length;
    // Only the newest events are undecided, because the oldest are decided first.
    for (let n = decided; n < written; n++)
      delays.push(Date.now() - began - (n * 1_000) / LIVE_PER_SECOND);
    delays.sort((a, b) => a - b);
    const at = (share: number) => delays[Math.floor(delays.length * share)] ?? Number.NaN;
    const archivePerSecond = archive / seconds;
    return { medianMs: at(0.5), p99Ms: at(0.99), decided, archivePerSecond };
  });
}
