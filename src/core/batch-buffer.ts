/**
 * Items of one shard waiting to become batches, by content type. A batch is sealed by rows, bytes,
 * age, or when its offsets become too large for one journal record. Time is an input.
 */

import type { ItemBatch } from './item-batch.ts';
import type { ContentItem } from './record.ts';

/** Share of the memory budget that intake may use (I7); a batch must fit into it. */
export const INTAKE_SHARE = 0.7;

/** Items between two checks of the bound on offsets, which is far away. */
export const OFFSET_CHECK_EVERY = 1024;

export interface BatchLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Encoded offsets of one job, bytes: journal records stay far below Kafka's message size. */
  readonly maxOffsetBytes: number;
}

export class ItemBuffers implements Disposable {
  readonly #limitsOf: (type: string) => BatchLimits;
  readonly #open: (type: string, seal: () => void) => ItemBatch;
  readonly #sealed: (batch: ItemBatch) => void;
  readonly #batches = new Map<string, ItemBatch>();

  /**
   * @param limitsOf limits of the batches of a type
   * @param open begins a batch of a type, which `seal` ends
   * @param sealed takes a batch that was ended
   */
  constructor(
    limitsOf: (type: string) => BatchLimits,
    open: (type: string, seal: () => void) => ItemBatch,
    sealed: (batch: ItemBatch) => void,
  ) {
    this.#limitsOf = limitsOf;
    this.#open = open;
    this.#sealed = sealed;
  }

  /** True if a batch of the type is open. */
  has(type: string): boolean {
    return this.#batches.has(type);
  }

  /** Open batches, one per type. */
  get batches(): Iterable<ItemBatch> {
    return this.#batches.values();
  }

  /**
   * Time at which the next batch is old enough, on the caller's clock, ms; Infinity if all are
   * empty.
   */
  get nextDueMs(): number {
    let due = Infinity;
    for (const batch of this.#batches.values()) due = Math.min(due, this.#dueMs(batch));
    return due;
  }

  /**
   * Adds an item; its age starts at `sinceMs`. An item that would exceed the size limit of a batch
   * seals the items before it. @throws if its row cannot be written; then nothing is sealed
   */
  add(item: ContentItem, sinceMs: number): void {
    const { maxBytes, maxOffsetBytes, maxRows } = this.#limitsOf(item.type);
    const before = this.#batches.get(item.type);
    const fits = before !== undefined && before.bytes + item.bytes <= maxBytes;
    const batch = fits ? before : this.#begin(item.type);
    try {
      batch.add(item, sinceMs);
    } catch (error) {
      if (!fits) batch[Symbol.dispose]();
      throw error;
    }
    if (!fits) {
      if (before !== undefined) this.#seal(before);
      this.#batches.set(item.type, batch);
    }
    const { length } = batch;
    const offsetsAreDue = length % OFFSET_CHECK_EVERY === 0;
    if (length >= maxRows || (offsetsAreDue && batch.records.encodedBytes > maxOffsetBytes))
      this.#seal(batch);
  }

  /** Seals the batches that are old enough at `nowMs`. */
  sealAged(nowMs: number): void {
    for (const batch of [...this.#batches.values()])
      if (nowMs >= this.#dueMs(batch)) this.#seal(batch);
  }

  /** Discards all items. */
  [Symbol.dispose](): void {
    for (const batch of this.#batches.values()) batch[Symbol.dispose]();
    this.#batches.clear();
  }

  /** On its own, because a closure in `add` would be made for each item. */
  #begin(type: string): ItemBatch {
    const batch: ItemBatch = this.#open(type, () => this.#seal(batch));
    return batch;
  }

  #dueMs({ type, sinceMs }: ItemBatch): number {
    return sinceMs + this.#limitsOf(type).maxAgeMs;
  }

  #seal(batch: ItemBatch): void {
    this.#batches.delete(batch.type);
    batch.seal();
    this.#sealed(batch);
  }
}
