/** Writes test records to given partitions, plainly or inside a transaction. */
import { randomUUID } from 'node:crypto';
import type { Producer, ProducerConfig } from 'kafkajs';
import { sendRecords } from '../../dev/kafka/send-records.ts';
import type { RecordHeaders, SourceCoordinate } from '../../src/core/record.ts';
import { Kafka, logLevel } from '../../src/kafka/kafkajs/patches.ts';
import { eventually } from './eventually.ts';

export interface NewRecord {
  /** Default 0. */
  readonly partition?: number;
  readonly key?: Buffer | string | null;
  /** Default null. */
  readonly value?: Buffer | string | null;
  readonly headers?: RecordHeaders;
  readonly timestampMs?: number;
}

/** A broker that is down or frozen for some seconds is sat out. */
const RETRY = { initialRetryTime: 20, maxRetryTime: 500, retries: 60 };
const REQUEST_MS = 5_000;
const PATIENCE_MS = 30_000;

type Send = Pick<Producer, 'send'>;

/** Idempotent, so that a send repeated after a broker's failure is there once; each goes to one partition. */
function newProducer(
  brokers: readonly string[],
  transaction: Pick<ProducerConfig, 'transactionalId' | 'transactionTimeout'> = {},
): Producer {
  const kafka = new Kafka({
    brokers: [...brokers],
    clientId: 'topic-writer',
    logLevel: logLevel.NOTHING,
    connectionTimeout: REQUEST_MS,
    requestTimeout: REQUEST_MS,
    retry: RETRY,
  });
  return kafka.producer({
    allowAutoTopicCreation: false,
    idempotent: true,
    maxInFlightRequests: 1,
    retry: RETRY,
    ...transaction,
  });
}

export class TopicWriter {
  readonly #brokers: readonly string[];
  #producer: Promise<Producer> | undefined;

  constructor(brokers: readonly string[]) {
    this.#brokers = brokers;
  }

  /** Writes the records, those of one partition in order. @returns where each went, in the order given. */
  async write(topic: string, records: readonly NewRecord[]): Promise<SourceCoordinate[]> {
    this.#producer ??= begun(
      () => newProducer(this.#brokers),
      async () => undefined,
    ).then(({ producer }) => producer);
    return await send(await this.#producer, topic, records);
  }

  /**
   * Writes the records in one transaction, with a transactional id of its own unless told.
   * @param end what becomes of the transaction; `open` leaves it to the broker, which holds read_committed readers back until
   * the same id comes again or the timeout passes.
   */
  async writeTransaction(
    topic: string,
    records: readonly NewRecord[],
    end: 'commit' | 'abort' | 'open' = 'commit',
    { transactionalId = `topic-writer-${randomUUID()}`, timeoutMs = 60_000 } = {},
  ): Promise<SourceCoordinate[]> {
    const { producer, result: transaction } = await begun(
      () => newProducer(this.#brokers, { transactionalId, transactionTimeout: timeoutMs }),
      (connected) => connected.transaction(),
    );
    try {
      const where = await send(transaction, topic, records);
      if (end === 'commit') await transaction.commit();
      else if (end === 'abort') await transaction.abort();
      return where;
    } finally {
      await producer.disconnect();
    }
  }

  async close(): Promise<void> {
    await (await this.#producer)?.disconnect();
    this.#producer = undefined;
  }
}

/**
 * A producer that `begin` worked for. kafkajs asks for a producer id when it connects and again when a transaction begins,
 * and gives up on the first request that a frozen broker leaves unanswered: nothing is written by then, so a new one tries.
 */
async function begun<T>(
  create: () => Producer,
  begin: (producer: Producer) => Promise<T>,
): Promise<{ producer: Producer; result: T }> {
  const attempt = async () => {
    const producer = create();
    try {
      await producer.connect();
      return { producer, result: await begin(producer) };
    } catch (error) {
      await producer.disconnect().catch(() => undefined);
      throw error;
    }
  };
  return await eventually('a producer has an id', attempt, { deadlineMs: PATIENCE_MS });
}

async function send(
  to: Send,
  topic: string,
  records: readonly NewRecord[],
): Promise<SourceCoordinate[]> {
  const coordinates = new Array<SourceCoordinate>(records.length);
  for (const [partition, indexes] of Map.groupBy(
    records.keys(),
    (index) => records[index]?.partition ?? 0,
  )) {
    for (const { timestampMs, run } of ofOneTime(indexes, records)) {
      const time = timestampMs === undefined ? {} : { timestampMs };
      const offsets = await sendRecords(
        to,
        { topic, partition, ...time },
        run.map((index) => ({ key: null, value: null, ...records[index] })),
      );
      for (const [place, index] of run.entries())
        coordinates[index] = { partition, offset: offsets[place] as number };
    }
  }
  return coordinates;
}

/** All records of a batch have one timestamp. */
function* ofOneTime(
  indexes: readonly number[],
  records: readonly NewRecord[],
): Generator<{ readonly timestampMs: number | undefined; readonly run: number[] }> {
  let run: number[] = [];
  let timestampMs: number | undefined;
  for (const index of indexes) {
    const time = records[index]?.timestampMs;
    if (run.length > 0 && time !== timestampMs) {
      yield { timestampMs, run };
      run = [];
    }
    timestampMs = time;
    run.push(index);
  }
  if (run.length > 0) yield { timestampMs, run };
}
