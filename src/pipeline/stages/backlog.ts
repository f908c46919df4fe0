/**
 * Reader of the ranges that intake leaps over to avoid delays of the newest records. Works at the
 * same time as intake, and reads the oldest records of each partition first.
 */
import type { UnreadRange } from '../../core/journal/partition-state.ts';
import type { RecordPiece } from '../../core/ports/kafka.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { skipRemoved, untilReadable } from '../source/reread.ts';
import type { BatchTaker } from './batch-taker.ts';

interface Reading {
  readonly ranges: UnreadRange[];
  readonly start: () => void;
}

export class Backlog {
  readonly #shard: ShardContext;
  readonly #newTaker: () => BatchTaker;
  readonly #room: (partition: number) => Promise<void>;
  /** Ranges by partition. */
  readonly #readings = new Map<number, Reading>();

  /** @param room resolves when there is room for records; rejects with the signal's reason */
  constructor(
    shard: ShardContext,
    newTaker: () => BatchTaker,
    room: (partition: number) => Promise<void>,
  ) {
    this.#shard = shard;
    this.#newTaker = newTaker;
    this.#room = room;
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

  /** Reads the next part of a range. Returns early if the partition cannot be read. */
  async #readPart(partition: number, range: UnreadRange, taker: BatchTaker): Promise<void> {
    const { limits, options, reader, signal } = this.#shard;
    await this.#room(partition);
    const failure = await limits.backlogs(async () => {
      signal.throwIfAborted();
      const partEnd = new AbortController();
      const stopped = AbortSignal.any([signal, partEnd.signal]);
      const { position: from, end } = range;
      let records = 0;
      try {
        await taker.takePieces(partition, range, async (take) => {
          const takeAndCount = async (piece: RecordPiece) => {
            if (piece.records.length === 0) await this.#skipRemoved(partition, range);
            await take(piece);
            records += piece.records.length;
            if (records >= options.backlogPart) partEnd.abort();
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

  /** Moves the range to the start of the log, if the records before it were removed. */
  async #skipRemoved(partition: number, range: UnreadRange): Promise<void> {
    const { admin, logger, options, state, waits } = this.#shard;
    const ranges = await waits.during('kafka', admin.ranges(options.source.topic, [partition]));
    const start = ranges.get(partition)?.start ?? 0;
    if (range.position < start)
      skipRemoved(this.#shard, logger, state.partition(partition), start, range);
  }
}
