/** Items of one upload, kept as encoded rows and coordinates. The batch keeps no reference to an item. */
import type { EncodedBody, RowSink } from './bytes/row-sink.ts';
import { BatchRecords } from './journal/job.ts';
import type { Lease } from './ports/memory.ts';
import type { ContentItem } from './record.ts';
import type { TraceLinks } from './trace-context.ts';

/** Estimated memory of a batch's own objects. */
const BATCH_BYTES = 1024;

export class ItemBatch implements Disposable {
  readonly type: string;
  readonly sink: RowSink;
  readonly records = new BatchRecords();
  /** undefined while tracing is off. */
  readonly links: TraceLinks | undefined;
  /** Sum of the items' bytes. */
  bytes = 0;
  /** Arrival time of the oldest item in ms, on the caller's clock. Infinity if the batch is empty. */
  sinceMs = Infinity;
  readonly #lease: Lease;
  #body: EncodedBody | undefined;

  /** @param lease memory of the batch, which the batch releases when it is disposed of */
  constructor(type: string, sink: RowSink, links: TraceLinks | undefined, lease: Lease) {
    this.type = type;
    this.sink = sink;
    this.links = links;
    this.#lease = lease;
  }

  get length(): number {
    return this.records.size;
  }

  /** Memory of the batch, bytes. */
  get heldBytes(): number {
    return this.#lease.bytes;
  }

  /** Adds an item, whose age counts from `sinceMs`. @throws the sink's error; then the batch is unchanged */
  add(item: ContentItem, sinceMs: number): void {
    const { links, records, sink } = this;
    try {
      sink.add(item);
      records.take(item);
      links?.add(item.headers);
    } finally {
      this.#lease.resize(
        BATCH_BYTES + sink.heldBytes + records.heldBytes + (links?.heldBytes ?? 0),
      );
    }
    this.bytes += item.bytes;
    if (sinceMs < this.sinceMs) this.sinceMs = sinceMs;
  }

  /** Assembles the body, which the batch owns. Must be called once, after the last item. */
  async encode(): Promise<EncodedBody> {
    const body = await this.sink.finish();
    this.#body = body;
    this.#lease.resize(body.heldBytes);
    return body;
  }

  /** Marks the batch as complete. No item may be added afterwards. */
  seal(): void {
    this.#lease.seal();
  }

  /** Releases rows, body and memory. Idempotent. */
  [Symbol.dispose](): void {
    this.#body?.release();
    this.sink.release();
    this.#lease[Symbol.dispose]();
  }
}
