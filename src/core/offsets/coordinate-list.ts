/**
 * Source coordinates of a batch, in 20 bytes each: all that is kept of its items besides their rows
 * while it waits for its upload.
 */
import { grown } from '../bytes/grown.ts';
import type { SourceCoordinate } from '../record.ts';

type ClaimedCoordinate = SourceCoordinate & {
  readonly timestampMs: number;
  readonly replay: number;
};

const LEAST_ROWS = 16;
const BYTES_PER_ROW = 20;

export class CoordinateList implements Iterable<ClaimedCoordinate> {
  #length = 0;
  #oldestMs = Infinity;
  #newestMs = -Infinity;
  #partitions: Int32Array;
  #offsets: Float64Array;
  #timestamps: Float64Array;
  /** One replay count per partition: it is the partition's, not the record's. */
  readonly #replays = new Map<number, number>();
  /** Partition of the newest record. */
  #last = -1;

  constructor(items: readonly ClaimedCoordinate[] = []) {
    const rows = Math.max(LEAST_ROWS, items.length);
    this.#partitions = new Int32Array(rows);
    this.#offsets = new Float64Array(rows);
    this.#timestamps = new Float64Array(rows);
    for (const item of items) this.add(item);
  }

  get length(): number {
    return this.#length;
  }

  /** Timestamp of the oldest record, ms; Infinity when empty. */
  get oldestMs(): number {
    return this.#oldestMs;
  }

  /** Timestamp of the newest record, ms; -Infinity when empty. */
  get newestMs(): number {
    return this.#newestMs;
  }

  /** Memory of the list, bytes. */
  get heldBytes(): number {
    return BYTES_PER_ROW * this.#partitions.length;
  }

  add({ partition, offset, timestampMs, replay }: ClaimedCoordinate): void {
    const row = this.#length++;
    if (row === this.#partitions.length) this.#grow();
    this.#partitions[row] = partition;
    this.#offsets[row] = offset;
    this.#timestamps[row] = timestampMs;
    if (timestampMs < this.#oldestMs) this.#oldestMs = timestampMs;
    if (timestampMs > this.#newestMs) this.#newestMs = timestampMs;
    if (partition === this.#last) return;
    this.#last = partition;
    this.#replays.set(partition, replay);
  }

  /** Resets of the group before the records of this partition. */
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

  #grow(): void {
    const rows = 2 * this.#partitions.length;
    this.#partitions = grown(this.#partitions, new Int32Array(rows));
    this.#offsets = grown(this.#offsets, new Float64Array(rows));
    this.#timestamps = grown(this.#timestamps, new Float64Array(rows));
  }
}
