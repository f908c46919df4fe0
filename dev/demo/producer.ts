/** The sample producer of one pipeline, at a pace that the eye can follow. */
import { setTimeout as sleep } from 'node:timers/promises';
import { partitionOf } from '../kafka/partitioner.ts';
import { RecordProducer } from '../kafka/send-records.ts';
import { coordinate, type DemoRecord, type Ledger } from './ledger.ts';

/** Between sends, ms. */
const PAUSE_MS = 75;

export interface ProduceOptions<E> {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly partitions: number;
  readonly records: AsyncIterable<DemoRecord<E>>;
  /** Records of one send, over all partitions. */
  readonly perSend: number;
  /** Gets to know where each record went. */
  readonly ledger: Ledger<E>;
  /** Stops it, without an error. */
  readonly signal: AbortSignal;
}

export async function produce<E>(options: ProduceOptions<E>): Promise<void> {
  const { brokers, topic, partitions, records, perSend, ledger, signal } = options;
  // Idempotent: a retried send must not produce twice, or there would be records that the ledger does not know.
  const producer = new RecordProducer(brokers);
  await producer.begin(topic, []);
  try {
    for await (const send of inSends(records, perSend)) {
      if (signal.aborted) return;
      for (const [partition, group] of Map.groupBy(send, ({ key }) =>
        key === null ? 0 : partitionOf(key, partitions),
      )) {
        const offsets = await producer.send(topic, partition, group);
        for (const [place, record] of group.entries())
          ledger.set(coordinate(partition, offsets[place] as number), record);
      }
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await producer.close();
  }
}

async function* inSends<T>(records: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let send: T[] = [];
  for await (const record of records) {
    send.push(record);
    if (send.length < size) continue;
    yield send;
    send = [];
  }
  if (send.length > 0) yield send;
}
