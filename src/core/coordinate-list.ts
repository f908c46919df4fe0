/**
 * Which records a batch answers for, in 20 bytes each: a batch that waits for its upload needs no more of its items once its
 * body is encoded.
 */
import type { SourceCoordinate } from './record.ts';

export type ClaimedCoordinate = SourceCoordinate & { readonly timestampMs: number; readonly replay: number };

export class CoordinateList implements Iterable<ClaimedCoordinate> {
  readonly length: number;
  /** Timestamp of the oldest record, ms; Infinity when empty. */
  readonly oldestMs: number;
  /** Timestamp of the newest record, ms; -Infinity when empty. */
  readonly newestMs: number;
  readonly #partitions: Int32Array;
  readonly #offsets: Float64Array;
  readonly #timestamps: Float64Array;
  /** One replay count per partition: it is the partition's, not the record's. */
  readonly #replays = new Map<number, number>();

  constructor(items: readonly ClaimedCoordinate[]) {
    this.length = items.length;
    this.#partitions = Int32Array.from(items, ({ partition }) => partition);
    this.#offsets = Float64Array.from(items, ({ offset }) => offset);
    this.#timestamps = Float64Array.from(items, ({ timestampMs }) => timestampMs);
    this.oldestMs = this.#timestamps.reduce((oldest, ms) => Math.min(oldest, ms), Number.POSITIVE_INFINITY);
    this.newestMs = this.#timestamps.reduce((newest, ms) => Math.max(newest, ms), Number.NEGATIVE_INFINITY);
    for (const { partition, replay } of items) this.#replays.set(partition, replay);
  }

  /** How often the group had been reset before the records of this partition. */
  replayOf(partition: number): number {
    return this.#replays.get(partition) ?? 0;
  }

  *[Symbol.iterator](): IterableIterator<ClaimedCoordinate> {
    for (let i = 0; i < this.length; i++) {
      const partition = this.#partitions[i] as number;
      yield {
        partition,
        offset: this.#offsets[i] as number,
        timestampMs: this.#timestamps[i] as number,
        replay: this.replayOf(partition),
      };
    }
  }
}
