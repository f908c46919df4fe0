/**
 * Items of one shard waiting to become batches, by content type. A buffer seals by rows, by bytes, by age, or when the
 * set of its offsets grows too large for one journal record. Time is an input.
 */
import type { ContentItem } from './record.ts';

export interface BatchLimits {
  readonly maxRows: number;
  readonly maxBytes: number;
  readonly maxAgeMs: number;
  /** Encoded offsets of one job, bytes: journal records stay far below Kafka's message size. */
  readonly maxOffsetBytes: number;
}

export type SealReason = 'rows' | 'bytes' | 'age' | 'offsets' | 'memory';

export interface SealedItems {
  readonly type: string;
  readonly items: readonly ContentItem[];
  /** Sum of the items' bytes. */
  readonly bytes: number;
  /** On the caller's clock, ms: when the oldest item arrived. */
  readonly sinceMs: number;
  /** Timestamp of the oldest event, ms. */
  readonly oldestEventMs: number;
  readonly reason: SealReason;
}

class TypeBuffer {
  readonly type: string;
  readonly items: ContentItem[] = [];
  bytes = 0;
  sinceMs = Number.POSITIVE_INFINITY;
  oldestEventMs = Number.POSITIVE_INFINITY;
  readonly #spans = new Map<number, { low: number; high: number; count: number }>();

  constructor(type: string) {
    this.type = type;
  }

  add(item: ContentItem, sinceMs: number): void {
    this.items.push(item);
    this.bytes += item.bytes;
    if (sinceMs < this.sinceMs) this.sinceMs = sinceMs;
    if (item.timestampMs < this.oldestEventMs) this.oldestEventMs = item.timestampMs;
    const span = this.#spans.get(item.partition);
    if (span === undefined) this.#spans.set(item.partition, { low: item.offset, high: item.offset, count: 1 });
    else {
      span.low = Math.min(span.low, item.offset);
      span.high = Math.max(span.high, item.offset);
      span.count++;
    }
  }

  /** An upper bound of the encoded offsets: a bitmap, or runs at up to six bytes an offset; base64 adds a third. */
  offsetBytes(): number {
    let bytes = 0;
    for (const { low, high, count } of this.#spans.values()) bytes += 12 + Math.min((high - low) / 8, count * 6);
    return (bytes * 4) / 3;
  }
}

export class ItemBuffers {
  readonly #limits: BatchLimits;
  readonly #buffers = new Map<string, TypeBuffer>();
  #items = 0;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  /** Items waiting, over all types. */
  get size(): number {
    return this.#items;
  }

  /**
   * Adds an item; `sinceMs` is when its age starts. Returns the batch that this filled, if it did. An item that would
   * push a batch past its size limit seals what was there before it.
   */
  add(item: ContentItem, sinceMs: number): SealedItems | undefined {
    let sealed: SealedItems | undefined;
    let buffer = this.#buffers.get(item.type);
    if (buffer !== undefined && buffer.bytes + item.bytes > this.#limits.maxBytes) {
      sealed = this.#seal(buffer, 'bytes');
      buffer = undefined;
    }
    if (buffer === undefined) {
      buffer = new TypeBuffer(item.type);
      this.#buffers.set(item.type, buffer);
    }
    buffer.add(item, sinceMs);
    this.#items++;
    if (sealed !== undefined) return sealed;
    if (buffer.items.length >= this.#limits.maxRows) return this.#seal(buffer, 'rows');
    if (buffer.items.length % OFFSET_CHECK_EVERY === 0 && buffer.offsetBytes() > this.#limits.maxOffsetBytes)
      return this.#seal(buffer, 'offsets');
    return undefined;
  }

  /** Batches that are old enough at `nowMs`. */
  sealAged(nowMs: number): SealedItems[] {
    return [...this.#buffers.values()]
      .filter((buffer) => nowMs >= buffer.sinceMs + this.#limits.maxAgeMs)
      .map((buffer) => this.#seal(buffer, 'age'));
  }

  /** Frees memory: the largest buffer, whatever its age. */
  sealLargest(): SealedItems | undefined {
    const largest = this.#largest();
    return largest && this.#seal(largest, 'memory');
  }

  get largestBytes(): number {
    return this.#largest()?.bytes ?? 0;
  }

  /** On the caller's clock, ms: when the next buffer will be old enough; Infinity when all are empty. */
  get nextDueMs(): number {
    let due = Number.POSITIVE_INFINITY;
    for (const buffer of this.#buffers.values()) due = Math.min(due, buffer.sinceMs + this.#limits.maxAgeMs);
    return due;
  }

  /** Timestamp of the oldest event waiting, ms; Infinity when empty. */
  get oldestEventMs(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { oldestEventMs } of this.#buffers.values()) oldest = Math.min(oldest, oldestEventMs);
    return oldest;
  }

  #largest(): TypeBuffer | undefined {
    let largest: TypeBuffer | undefined;
    for (const buffer of this.#buffers.values()) if (largest === undefined || buffer.bytes > largest.bytes) largest = buffer;
    return largest;
  }

  #seal(buffer: TypeBuffer, reason: SealReason): SealedItems {
    this.#buffers.delete(buffer.type);
    this.#items -= buffer.items.length;
    const { type, items, bytes, sinceMs, oldestEventMs } = buffer;
    return { type, items, bytes, sinceMs, oldestEventMs, reason };
  }
}

/** The bound on offsets is far away: looking at it now and then is enough. */
const OFFSET_CHECK_EVERY = 1024;
