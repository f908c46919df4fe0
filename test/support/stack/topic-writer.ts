/** Writes test records to given partitions, with or without a transaction. */
import { randomUUID } from 'node:crypto';
import { RecordProducer } from '../../../dev/kafka/send-records.ts';
import type { RecordHeaders, SourceCoordinate } from '../../../src/core/record.ts';

export interface NewRecord {
  /** Default: 0. */
  readonly partition?: number;
  readonly key?: Buffer | string | null;
  /** Default: null. */
  readonly value?: Buffer | string | null;
  readonly headers?: RecordHeaders;
  readonly timestampMs?: number;
}

export class TopicWriter {
  readonly #brokers: readonly string[];
  #begun: Promise<RecordProducer> | undefined;

  constructor(brokers: readonly string[]) {
    this.#brokers = brokers;
  }

  /** Writes the records, in order within a partition. @returns their coordinates, in the given order */
  async write(topic: string, records: readonly NewRecord[]): Promise<SourceCoordinate[]> {
    this.#begun ??= this.#begin(topic);
    return await send(await this.#begun, topic, records);
  }

  /**
   * Writes the records in one transaction, by default with a new transactional id.
   * @param end of the transaction; `open` blocks read_committed readers until the same id is used again or the
   * timeout passes
   */
  async writeTransaction(
    topic: string,
    records: readonly NewRecord[],
    end: 'commit' | 'abort' | 'open' = 'commit',
    { transactionalId = `topic-writer-${randomUUID()}`, timeoutMs = 60_000 } = {},
  ): Promise<SourceCoordinate[]> {
    const producer = new RecordProducer(this.#brokers, { transactionalId, timeoutMs });
    try {
      await producer.begin(topic, new Set(records.map(({ partition = 0 }) => partition)));
      const where = await send(producer, topic, records);
      if (end !== 'open') await producer.end(end === 'commit');
      return where;
    } finally {
      await producer.close();
    }
  }

  async close(): Promise<void> {
    await (await this.#begun)?.close();
    this.#begun = undefined;
  }

  async #begin(topic: string): Promise<RecordProducer> {
    const producer = new RecordProducer(this.#brokers);
    await producer.begin(topic, []);
    return producer;
  }
}

async function send(
  to: RecordProducer,
  topic: string,
  records: readonly NewRecord[],
): Promise<SourceCoordinate[]> {
  const coordinates = new Array<SourceCoordinate>(records.length);
  for (const [partition, indexes] of Map.groupBy(
    records.keys(),
    (index) => records[index]?.partition ?? 0,
  )) {
    for (const { timestampMs, run } of ofOneTime(indexes, records)) {
      const given = run.map((index) => ({ key: null, value: null, ...records[index] }));
      const offsets = await to.send(topic, partition, given, timestampMs);
      for (const [place, index] of run.entries())
        coordinates[index] = { partition, offset: offsets[place] as number };
    }
  }
  return coordinates;
}

/** Yields runs of records with the same timestamp, because a batch has only one timestamp. */
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
