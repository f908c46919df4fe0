/** TopicScan over MemoryKafka. Other steps may run between the request and the response of a query. */
import { abortable } from '../../../../packages/client/src/base/abortable.ts';
import { DEAD_LETTER_HEADERS } from '../../../../src/core/outcome/dead-letter.ts';
import type { PartitionBounds, RecordPiece, TopicScan } from '../../../../src/core/ports/kafka.ts';
import { lastHeader, type SourceRecord } from '../../../../src/core/record.ts';
import { sleepOn } from '../clock.ts';
import { roundTrip } from '../scheduler.ts';
import type { ScriptedDecision } from '../service/scripted-kind.ts';
import type { Home } from './client.ts';
import type { MemoryKafka } from './kafka.ts';
import { below } from './pieces.ts';

/** Interval between reads of a log that ends before the requested offset, ms. */
const POLL_MS = 100;

export class MemoryTopicScan implements TopicScan {
  readonly #kafka: MemoryKafka;
  readonly #home: Home;
  readonly #source: string;
  /** Maximum number of records of one fetch. */
  readonly #fetchRecords: number;

  constructor(kafka: MemoryKafka, home: Home, source: string, fetchRecords: number) {
    this.#kafka = kafka;
    this.#home = home;
    this.#source = source;
    this.#fetchRecords = fetchRecords;
  }

  bounds(topic: string): Promise<ReadonlyMap<number, PartitionBounds>> {
    return this.#each(topic, ({ start, stableEnd, end }) => ({ start, stable: stableEnd, end }));
  }

  firstAt(topic: string, timestampMs: number): Promise<ReadonlyMap<number, number>> {
    return this.#each(
      topic,
      (log) =>
        log
          .read(log.start, Number.POSITIVE_INFINITY)
          .records.find((one) => one.timestampMs >= timestampMs)?.offset ?? log.end,
    );
  }

  async read(
    topic: string,
    {
      partition,
      from,
      until,
    }: { readonly partition: number; readonly from: number; readonly until: number },
    onPiece: (piece: RecordPiece) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    for (let next = from; next < until; ) {
      signal.throwIfAborted();
      const position = next;
      const fetch = this.#ask(`read/${topic}/${partition}`, () =>
        this.#kafka.cluster.log(topic, partition).read(position, this.#fetchRecords),
      );
      const read = await abortable(fetch, signal);
      if (read.nextOffset <= next) {
        await sleepOn(this.#home, POLL_MS, signal);
        continue;
      }
      next = read.nextOffset;
      for (const piece of below(read.pieces, until)) {
        await onPiece({
          ...piece,
          records: piece.records.map((record) => this.#withEventId(record)),
        });
        signal.throwIfAborted();
      }
    }
  }

  members(): Promise<number> {
    return this.#ask('group', () => 1);
  }

  async close(): Promise<void> {}

  #each<T>(
    topic: string,
    of: (log: ReturnType<MemoryKafka['cluster']['log']>) => T,
  ): Promise<ReadonlyMap<number, T>> {
    return this.#ask(topic, () => {
      const partitions = Array.from(
        { length: this.#kafka.cluster.partitions(topic) },
        (_, partition) => partition,
      );
      return new Map(
        partitions.map((partition) => [partition, of(this.#kafka.cluster.log(topic, partition))]),
      );
    });
  }

  #ask<T>(channel: string, apply: () => T): Promise<T> {
    return roundTrip(this.#kafka.network, this.#home, `scan/${channel}`, apply);
  }

  /** Adds the header with the event id, which the scripted kind's decisions have only in their value. */
  #withEventId(record: SourceRecord): SourceRecord {
    if (
      lastHeader(record.headers, DEAD_LETTER_HEADERS.eventId) !== undefined ||
      !record.value?.toString().startsWith('{"partition":')
    ) {
      return record;
    }
    const {
      partition,
      offset,
      replay = 0,
    } = JSON.parse(record.value.toString()) as ScriptedDecision;
    const eventId = `${this.#source}-${partition}-${offset}${replay > 0 ? `#${replay}` : ''}`;
    return {
      ...record,
      headers: [...record.headers, [DEAD_LETTER_HEADERS.eventId, Buffer.from(eventId)]],
    };
  }
}
