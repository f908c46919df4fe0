/** Items of one upload: their rows, as bytes, and their coordinates. No item outlives `add`. */

import type { RowSink } from '../bytes/row-sink.ts';
import { CoordinateList } from '../offsets/coordinate-list.ts';
import type { ContentItem } from '../record.ts';
import type { TraceLinks } from '../trace-context.ts';

/** Memory of the objects around a batch. */
const BATCH_BYTES = 1024;

interface ItemRange {
  low: number;
  high: number;
  count: number;
}

export class ItemBatch {
  readonly type: string;
  readonly sink: RowSink;
  readonly records = new CoordinateList();
  /** undefined while tracing is off. */
  readonly links: TraceLinks | undefined;
  /** Sum of the items' bytes. */
  bytes = 0;
  /** Arrival of the oldest item on the caller's clock, ms; Infinity if empty. */
  sinceMs = Infinity;
  /** Range of offsets by partition. */
  readonly #ranges = new Map<number, ItemRange>();
  /** Partition and range of the newest item. */
  #partition = -1;
  #range: ItemRange = { low: 0, high: 0, count: 0 };

  constructor(type: string, sink: RowSink, links: TraceLinks | undefined) {
    this.type = type;
    this.sink = sink;
    this.links = links;
  }

  get length(): number {
    return this.records.length;
  }

  /** Memory that the batch takes, bytes. */
  get heldBytes(): number {
    return (
      BATCH_BYTES + this.sink.heldBytes + this.records.heldBytes + (this.links?.heldBytes ?? 0)
    );
  }

  /**
   * @param sinceMs start of the item's age. @throws the error of the sink; then the batch is
   * unchanged
   */
  add(item: ContentItem, sinceMs: number): void {
    this.sink.add(item);
    this.records.add(item);
    this.links?.add(item.headers);
    this.bytes += item.bytes;
    if (sinceMs < this.sinceMs) this.sinceMs = sinceMs;
    const { partition, offset } = item;
    if (partition !== this.#partition) {
      this.#partition = partition;
      this.#range = this.#ranges.get(partition) ?? { low: offset, high: offset, count: 0 };
      if (this.#range.count === 0) this.#ranges.set(partition, this.#range);
    }
    const range = this.#range;
    if (offset < range.low) range.low = offset;
    if (offset > range.high) range.high = offset;
    range.count++;
  }

  /** An upper bound of the encoded offsets: a bitmap, or runs at up to six bytes an offset; base64 adds a third. */
  offsetBytes(): number {
    let bytes = 0;
    for (const { low, high, count } of this.#ranges.values())
      bytes += 12 + Math.min((high - low) / 8, count * 6);
    return (bytes * 4) / 3;
  }
}
