/** Items of one upload: their rows, as bytes, and their coordinates. No item outlives `add`. */

import type { EncodedBody, RowSink } from '../bytes/row-sink.ts';
import { CoordinateList } from '../offsets/coordinate-list.ts';
import type { Lease } from '../ports/memory.ts';
import type { ContentItem } from '../record.ts';
import type { TraceLinks } from '../trace-context.ts';

/** Memory of the objects around a batch. */
const BATCH_BYTES = 1024;

interface ItemRange {
  low: number;
  high: number;
  count: number;
}

export class ItemBatch implements Disposable {
  readonly type: string;
  readonly sink: RowSink;
  readonly records = new CoordinateList();
  /** undefined while tracing is off. */
  readonly links: TraceLinks | undefined;
  /** Sum of the items' bytes. */
  bytes = 0;
  /** Arrival of the oldest item on the caller's clock, ms; Infinity if empty. */
  sinceMs = Infinity;
  readonly #lease: Lease;
  #body: EncodedBody | undefined;
  /** Range of offsets by partition. */
  readonly #ranges = new Map<number, ItemRange>();
  /** Partition and range of the newest item. */
  #partition = -1;
  #range: ItemRange = { low: 0, high: 0, count: 0 };

  /** @param lease memory of the batch, which the batch owns */
  constructor(type: string, sink: RowSink, links: TraceLinks | undefined, lease: Lease) {
    this.type = type;
    this.sink = sink;
    this.links = links;
    this.#lease = lease;
  }

  get length(): number {
    return this.records.length;
  }

  /** Memory that the batch takes, bytes. */
  get heldBytes(): number {
    return this.#lease.bytes;
  }

  /**
   * @param sinceMs start of the item's age. @throws the error of the sink; then the batch is
   * unchanged
   */
  add(item: ContentItem, sinceMs: number): void {
    const { links, records, sink } = this;
    try {
      sink.add(item);
      records.add(item);
      links?.add(item.headers);
    } finally {
      this.#lease.resize(
        BATCH_BYTES + sink.heldBytes + records.heldBytes + (links?.heldBytes ?? 0),
      );
    }
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

  /** Puts the body together, which the batch owns. To be called once, after the last item. */
  async encode(): Promise<EncodedBody> {
    const body = await this.sink.finish();
    this.#body = body;
    this.#lease.resize(body.heldBytes);
    return body;
  }

  /** Ends the batch: no item follows. */
  seal(): void {
    this.#lease.seal();
  }

  /** Gives rows, body and memory back. Repeatable. */
  [Symbol.dispose](): void {
    this.#body?.release();
    this.sink.release();
    this.#lease[Symbol.dispose]();
  }

  /** An upper bound of the encoded offsets: a bitmap, or runs at up to six bytes an offset; base64 adds a third. */
  offsetBytes(): number {
    let bytes = 0;
    for (const { low, high, count } of this.#ranges.values())
      bytes += 12 + Math.min((high - low) / 8, count * 6);
    return (bytes * 4) / 3;
  }
}
