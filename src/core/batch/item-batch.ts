/** Items on their way into one upload: their rows, as bytes, and where they come from. No item outlives `add`. */
import { CoordinateList } from '../offsets/coordinate-list.ts';
import type { RowSink } from '../ports/row-sink.ts';
import type { ContentItem } from '../record.ts';
import type { TraceLinks } from '../trace-context.ts';

/** The objects around a batch. */
const BATCH_BYTES = 1024;

interface Span {
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
  #bytes = 0;
  #sinceMs = Number.POSITIVE_INFINITY;
  /** Offsets by partition. */
  readonly #spans = new Map<number, Span>();
  /** Partition and span of the newest item. */
  #partition = -1;
  #span: Span = { low: 0, high: 0, count: 0 };

  constructor(type: string, sink: RowSink, links: TraceLinks | undefined) {
    this.type = type;
    this.sink = sink;
    this.links = links;
  }

  get length(): number {
    return this.records.length;
  }

  /** Sum of the items' bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Memory that the batch takes, bytes. */
  get heldBytes(): number {
    return (
      BATCH_BYTES + this.sink.heldBytes + this.records.heldBytes + (this.links?.heldBytes ?? 0)
    );
  }

  /** On the caller's clock, ms: when the oldest item arrived; Infinity when empty. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** @param sinceMs when the item's age starts. @throws what the sink throws; then the batch is as it was */
  add(item: ContentItem, sinceMs: number): void {
    this.sink.add(item);
    this.records.add(item);
    this.links?.add(item.headers);
    this.#bytes += item.bytes;
    if (sinceMs < this.#sinceMs) this.#sinceMs = sinceMs;
    const { partition, offset } = item;
    if (partition !== this.#partition) {
      this.#partition = partition;
      this.#span = this.#spans.get(partition) ?? { low: offset, high: offset, count: 0 };
      if (this.#span.count === 0) this.#spans.set(partition, this.#span);
    }
    const span = this.#span;
    if (offset < span.low) span.low = offset;
    if (offset > span.high) span.high = offset;
    span.count++;
  }

  /** An upper bound of the encoded offsets: a bitmap, or runs at up to six bytes an offset; base64 adds a third. */
  offsetBytes(): number {
    let bytes = 0;
    for (const { low, high, count } of this.#spans.values())
      bytes += 12 + Math.min((high - low) / 8, count * 6);
    return (bytes * 4) / 3;
  }
}
