/**
 * Size of the transactions of a shard, as its owners in this process have learnt it. It outlives
 * each of them: a failed transaction ends its owner, and the next one must not repeat it.
 */
import type { Coordinates } from '../../core/bytes/terminal-records.ts';
import { TransactionError } from '../../core/ports/kafka.ts';
import { placeOf } from '../../core/record.ts';
import type { PipelineOptions } from '../context/options.ts';

export class ChunkSize {
  readonly #limits: PipelineOptions['chunk'];
  #rows: number;
  readonly #oversized = new Set<string>();

  constructor(limits: PipelineOptions['chunk']) {
    this.#limits = limits;
    this.#rows = limits.maxRows;
  }

  /** Returns true if this much is enough for one transaction. */
  isFull(rows: number, bytes: number): boolean {
    return rows >= this.#rows || bytes >= this.#limits.maxBytes;
  }

  /** Returns true if Kafka refused the terminal record of this source record, alone in its transaction. */
  isOversized(partition: number, offset: number): boolean {
    // Mostly empty: then no row pays for its place as text.
    return this.#oversized.size > 0 && this.#oversized.has(placeOf({ partition, offset }));
  }

  succeeded(): void {
    this.#rows = Math.min(this.#limits.maxRows, this.#rows * 2);
  }

  /** Halves the next chunks: the failed one may have been too large, or too slow for its timeout. */
  failed(records: Coordinates, error: unknown): void {
    this.#rows = Math.max(1, Math.floor(Math.min(this.#rows, records.length) / 2));
    const isTooLarge = error instanceof TransactionError && error.failure === 'too_large';
    if (records.length !== 1 || !isTooLarge) return;
    this.#oversized.add(placeOf({ partition: records.partition(0), offset: records.offset(0) }));
  }
}
