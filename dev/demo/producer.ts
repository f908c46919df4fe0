/** The sample producer of one pipeline, at a pace that the eye can follow. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from 'kafkajs';
import { partitionOf } from '../../src/kafka/partitioner.ts';
import { coordinate, type DemoRecord, type Ledger } from './ledger.ts';
import { demoClient } from './topics.ts';

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
  const producer = demoClient(brokers).producer({
    allowAutoTopicCreation: false,
    // A retried send must not produce twice: then there would be records that the ledger knows nothing of.
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition ?? 0,
  });
  await producer.connect();
  try {
    for await (const send of inSends(records, perSend)) {
      if (signal.aborted) return;
      for (const [partition, group] of Map.groupBy(send, ({ key }) => (key === null ? 0 : partitionOf(key, partitions)))) {
        const messages = group.map(({ key, value }): Message => ({ key, value, partition }));
        const [sent] = await producer.send({ topic, acks: -1, messages });
        const base = Number(sent?.baseOffset);
        for (const [place, record] of group.entries()) ledger.set(coordinate(partition, base + place), record);
      }
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await producer.disconnect();
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
