/**
 * Reader of the ranges that intake has leaped over, so that the newest records need not wait until a
 * backlog has been read. It reads them at the same time, oldest first in each partition.
 */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { UnreadRange } from '../../core/journal/partition-state.ts';
import type { RecordPiece } from '../../core/ports/kafka.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { skipRemoved, untilReadable } from '../source/reread.ts';
import type { BatchTaker } from './batch-taker.ts';

/** Number of records after which another partition is read. */
const PART_RECORDS = 20_000;

interface Reading {
  readonly ranges: UnreadRange[];
  readonly start: () => void;
}

export class Backlog {
  readonly #shard: ShardContext;
  readonly #newTaker: () => BatchTaker;
  /** Ranges by partition. */
  readonly #readings = new Map<number, Reading>();
  /** Functions that end the waits of readings whose partition has many unsettled records. */
  readonly #forRoom = new Set<() => void>();

  constructor(shard: ShardContext, newTaker: () => BatchTaker) {
    this.#shard = shard;
    this.#newTaker = newTaker;
  }

  add(partition: number, range: UnreadRange): void {
    let reading = this.#readings.get(partition);
    if (reading === undefined) {
      const ranges: UnreadRange[] = [];
      const taker = this.#newTaker();
      const read = async () => {
        const first = ranges[0] as UnreadRange;
        await this.#readPart(partition, first, taker);
        if (first.position === first.end) ranges.shift();
      };
      const start = this.#shard.repeating('backlog', () => ranges.length > 0, read);
      reading = { ranges, start };
      this.#readings.set(partition, reading);
    }
    reading.ranges.push(range);
    reading.start();
  }

  /** To be called when partitions may have fewer unsettled records. */
  look(): void {
    for (const end of this.#forRoom) end();
  }

  /** Reads the next part of a range. Returns early if the partition cannot be read. */
  async #readPart(partition: number, range: UnreadRange, taker: BatchTaker): Promise<void> {
    const { admin, limits, logger, options, reader, signal, state, waits } = this.#shard;
    await this.#room(partition);
    const failure = await limits.backlogs(async () => {
      signal.throwIfAborted();
      const partEnd = new AbortController();
      const stopped = AbortSignal.any([signal, partEnd.signal]);
      let records = 0;
      try {
        const ranges = await waits.during('kafka', admin.ranges(options.source.topic, [partition]));
        const start = ranges.get(partition)?.start ?? 0;
        if (range.position < start)
          skipRemoved(this.#shard, logger, state.partition(partition), start, range);
        const { position: from, end } = range;
        if (from === end) return undefined;
        await taker.takePieces(partition, range, async (take) => {
          const takeAndCount = async (piece: RecordPiece) => {
            await take(piece);
            records += piece.records.length;
            if (records >= PART_RECORDS || !this.#hasRoom(partition)) partEnd.abort();
          };
          try {
            await reader.read({ partition, from, to: end - 1 }, takeAndCount, stopped);
          } catch (error) {
            if (!partEnd.signal.aborted) throw error;
          }
        });
        return undefined;
      } catch (error) {
        return { error };
      }
    });
    signal.throwIfAborted();
    if (failure !== undefined) await untilReadable(this.#shard, failure.error);
  }

  /** Returns true if the partition may have more records in flight. The newest ones have the other half. */
  #hasRoom(partition: number): boolean {
    const { options, state } = this.#shard;
    return state.unsettledIn(partition) <= options.source.maxInFlight / 2;
  }

  async #room(partition: number): Promise<void> {
    while (!this.#hasRoom(partition)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#forRoom.add(resolve);
      await abortable(promise, this.#shard.signal).finally(() => this.#forRoom.delete(resolve));
    }
  }
}
