/**
 * Items of one shard waiting to become batches, by content type. A buffer is sealed by rows, bytes,
 * age, or when its offsets become too large for one journal record. Time is an input.
 */

import type { ContentItem } from '../record.ts';
import type { ItemBatch } from './item-batch.ts';

/** Share of the memory budget that intake may use (I7); a batch must fit into it. */
export const INTAKE_SHARE = 0.7;

export interface BatchLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Encoded offsets of one job, bytes: journal records stay far below Kafka's message size. */
  readonly maxOffsetBytes: number;
}

type SealReason = 'rows' | 'bytes' | 'age' | 'offsets' | 'memory';

export interface SealedItems {
  readonly batch: ItemBatch;
  readonly reason: SealReason;
}

export class ItemBuffers {
  readonly #limits: BatchLimits;
  readonly #open: (type: string) => ItemBatch;
  readonly #buffers = new Map<string, ItemBatch>();
  #items = 0;

  /** @param open begins a batch of a type */
  constructor(limits: BatchLimits, open: (type: string) => ItemBatch) {
    this.#limits = limits;
    this.#open = open;
  }

  /** True if a batch of the type is open. */
  has(type: string): boolean {
    return this.#buffers.has(type);
  }

  /** Number of waiting items, over all types. */
  get size(): number {
    return this.#items;
  }

  /** Memory of the waiting items, bytes. */
  get heldBytes(): number {
    let bytes = 0;
    for (const { heldBytes } of this.#buffers.values()) bytes += heldBytes;
    return bytes;
  }

  /**
   * Adds an item; its age starts at `sinceMs`. An item that would exceed the size limit of a batch
   * seals the items before it.
   * @returns the batch that was sealed. @throws if its row cannot be written; then nothing is
   * sealed
   */
  add(item: ContentItem, sinceMs: number): SealedItems | undefined {
    const before = this.#buffers.get(item.type);
    if (before === undefined || before.bytes + item.bytes > this.#limits.maxBytes)
      return this.#begin(item, sinceMs, before);
    before.add(item, sinceMs);
    this.#items++;
    if (before.length >= this.#limits.maxRows) return this.#seal(before, 'rows');
    if (
      before.length % OFFSET_CHECK_EVERY === 0 &&
      before.offsetBytes() > this.#limits.maxOffsetBytes
    )
      return this.#seal(before, 'offsets');
    return undefined;
  }

  /** Batches that are old enough at `nowMs`. */
  sealAged(nowMs: number): SealedItems[] {
    return [...this.#buffers.values()]
      .filter((buffer) => nowMs >= buffer.sinceMs + this.#limits.maxAgeMs)
      .map((buffer) => this.#seal(buffer, 'age'));
  }

  /** Seals the largest buffer, whatever its age. */
  sealLargest(): SealedItems | undefined {
    const largest = this.#largest();
    return largest && this.#seal(largest, 'memory');
  }

  /** Memory of the largest buffer, bytes. */
  get largestBytes(): number {
    return this.#largest()?.heldBytes ?? 0;
  }

  /**
   * Time at which the next buffer is old enough, on the caller's clock, ms; Infinity if all are
   * empty.
   */
  get nextDueMs(): number {
    let due = Infinity;
    for (const buffer of this.#buffers.values())
      due = Math.min(due, buffer.sinceMs + this.#limits.maxAgeMs);
    return due;
  }

  /** Open batches, one per type. */
  get batches(): Iterable<ItemBatch> {
    return this.#buffers.values();
  }

  /** Begins a batch with its first item. @param before the batch that the item does not fit into */
  #begin(
    item: ContentItem,
    sinceMs: number,
    before: ItemBatch | undefined,
  ): SealedItems | undefined {
    const batch = this.#open(item.type);
    try {
      batch.add(item, sinceMs);
    } catch (error) {
      batch[Symbol.dispose]();
      throw error;
    }
    const sealed = before && this.#seal(before, 'bytes');
    this.#buffers.set(item.type, batch);
    this.#items++;
    return sealed ?? (this.#limits.maxRows <= 1 ? this.#seal(batch, 'rows') : undefined);
  }

  #largest(): ItemBatch | undefined {
    let largest: ItemBatch | undefined;
    for (const batch of this.#buffers.values())
      if (largest === undefined || batch.heldBytes > largest.heldBytes) largest = batch;
    return largest;
  }

  #seal(batch: ItemBatch, reason: SealReason): SealedItems {
    this.#buffers.delete(batch.type);
    this.#items -= batch.length;
    return { batch, reason };
  }
}

/** Items between two checks of the bound on offsets, which is far away. */
const OFFSET_CHECK_EVERY = 1024;
