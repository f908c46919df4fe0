/**
 * Open batches of one shard, by content type. A batch is sealed when it reaches its maximum rows,
 * bytes or age, or when its offsets become too large for one journal record. The caller passes in
 * the time.
 */

import type { ItemBatch } from './item-batch.ts';
import type { ContentItem } from './record.ts';

/** Share of the memory budget that intake may use (I7). A batch must fit into it. */
export const INTAKE_SHARE = 0.7;

/** Number of items between two checks of `maxOffsetBytes`. That many items add little to the offsets. */
export const OFFSET_CHECK_EVERY = 1024;

export interface BatchLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Maximum bytes of a job's encoded offsets, far below Kafka's maximum message size. */
  readonly maxOffsetBytes: number;
}

export class ItemBuffers implements Disposable {
  readonly #limitsOf: (type: string) => BatchLimits;
  readonly #open: (type: string, seal: () => void) => ItemBatch;
  readonly #sealed: (batch: ItemBatch) => void;
  readonly #batches = new Map<string, ItemBatch>();

  /**
   * @param limitsOf returns the limits for batches of a type
   * @param open opens a batch of a type; its `seal` seals the batch early
   * @param sealed receives each sealed batch
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
   * Time in ms, on the caller's clock, at which the next batch reaches its maximum age. Infinity if
   * no batch is open.
   */
  get nextDueMs(): number {
    let due = Infinity;
    for (const batch of this.#batches.values()) due = Math.min(due, this.#dueMs(batch));
    return due;
  }

  /**
   * Adds an item, whose age counts from `sinceMs`. If the item does not fit into the open batch of
   * its type, that batch is sealed. @throws if the row cannot be written; then no batch is sealed
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

  /** Seals the batches that have reached their maximum age at `nowMs`. */
  sealAged(nowMs: number): void {
    for (const batch of [...this.#batches.values()])
      if (nowMs >= this.#dueMs(batch)) this.#seal(batch);
  }

  /** Seals the largest batch if all open ones together hold at least `bytes`. */
  sealLargest(bytes: number): void {
    let held = 0;
    let largest: ItemBatch | undefined;
    for (const batch of this.#batches.values()) {
      held += batch.heldBytes;
      if (batch.heldBytes > (largest?.heldBytes ?? 0)) largest = batch;
    }
    if (largest !== undefined && held >= bytes) this.#seal(largest);
  }

  /** Discards all items. */
  [Symbol.dispose](): void {
    for (const batch of this.#batches.values()) batch[Symbol.dispose]();
    this.#batches.clear();
  }

  /** A separate method, because a closure in `add` would be created for every item. */
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
