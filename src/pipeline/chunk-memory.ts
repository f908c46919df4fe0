/**
 * What a shard's owners in this process have learnt about the size of its transactions. It outlives each of them: a
 * transaction that fails ends its owner, and the next one must not try the same again.
 */
import { TransactionError } from '../core/ports/kafka.ts';
import type { SourceCoordinate } from '../core/record.ts';

export class ChunkMemory {
  readonly #maxRows: number;
  #rows: number;
  readonly #oversized = new Set<string>();

  constructor(maxRows: number) {
    this.#maxRows = maxRows;
    this.#rows = maxRows;
  }

  /** Terminal records to put into one transaction. */
  get rows(): number {
    return this.#rows;
  }

  /** Whether Kafka refused the terminal record of this source record, alone in its transaction. */
  isOversized({ partition, offset }: SourceCoordinate): boolean {
    return this.#oversized.has(`${partition}:${offset}`);
  }

  succeeded(): void {
    this.#rows = Math.min(this.#maxRows, this.#rows * 2);
  }

  /** A transaction with these records failed: too long for its timeout, perhaps, or too large. */
  failed(records: readonly SourceCoordinate[], error: unknown): void {
    this.#rows = Math.max(1, Math.floor(Math.min(this.#rows, records.length) / 2));
    const [only] = records;
    if (records.length === 1 && only !== undefined && error instanceof TransactionError && error.failure === 'rejected') {
      this.#oversized.add(`${only.partition}:${only.offset}`);
    }
  }
}
