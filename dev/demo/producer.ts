/** The sample producer: e-mails as content events, with poison among them, at a pace that the eye can follow. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Message } from 'kafkajs';
import { partitionOf } from '../../src/kafka/partitioner.ts';
import { readEmails } from './corpus.ts';
import { contentEvent, type DemoRecord, POISON } from './events.ts';
import { demoClient, SOURCE_PARTITIONS } from './topics.ts';

export const EMAILS = 2_000;
export const RECORDS = EMAILS + POISON.length;

/** One send has this many records over all partitions: about 300 KB, and the largest e-mail alone is as much. */
const SEND_RECORDS = 50;
/** Between sends, ms. */
const PAUSE_MS = 75;

/** What was produced and acknowledged, by `<partition>-<offset>`. */
export type Ledger = Map<string, DemoRecord>;

export function coordinate(partition: number, offset: number | string): string {
  return `${partition}-${offset}`;
}

/** Produces everything and remembers in `ledger` where each record went. Stops, without an error, when the signal says so. */
export async function produce(brokers: readonly string[], topic: string, ledger: Ledger, signal: AbortSignal): Promise<void> {
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
    for await (const records of inSends(mixed())) {
      if (signal.aborted) return;
      for (const [partition, group] of Map.groupBy(records, partitionFor)) {
        const messages = group.map(({ key, value }): Message => ({ key, value, partition }));
        const [sent] = await producer.send({ topic, acks: -1, messages });
        const base = Number(sent?.baseOffset);
        for (const [place, record] of group.entries()) ledger.set(coordinate(partition, base + place), record);
      }
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await producer.disconnect();
  }
}

function partitionFor({ key }: DemoRecord): number {
  return key === null ? 0 : partitionOf(key, SOURCE_PARTITIONS);
}

/** E-mails with the poison spread evenly among them. */
async function* mixed(): AsyncGenerator<DemoRecord> {
  const every = Math.floor(EMAILS / POISON.length);
  let index = 0;
  for await (const email of readEmails(EMAILS)) {
    if (index % every === 0) {
      const poison = POISON[index / every];
      if (poison !== undefined) yield poison;
    }
    yield contentEvent(email);
    index += 1;
  }
}

async function* inSends(records: AsyncIterable<DemoRecord>): AsyncGenerator<DemoRecord[]> {
  let send: DemoRecord[] = [];
  for await (const record of records) {
    send.push(record);
    if (send.length < SEND_RECORDS) continue;
    yield send;
    send = [];
  }
  if (send.length > 0) yield send;
}
