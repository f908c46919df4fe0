/**
 * What a shard's owners in this process have learnt about the size of its transactions. It outlives each of them: a
 * transaction that fails ends its owner, and the next one must not try the same again.
 */
import { type Coordinates, TerminalRecords } from '../../core/bytes/terminal-records.ts';
import { TransactionError } from '../../core/ports/kafka.ts';
import { type OutgoingRecord, placeOf, type SourceCoordinate } from '../../core/record.ts';

/** A terminal record, and what its publisher needs to know of the source record that it ends. */
export interface Rendered<A> {
  readonly at: SourceCoordinate;
  readonly record: OutgoingRecord;
  readonly about: A;
}

export class ChunkSize {
  readonly #maxRows: number;
  readonly #maxBytes: number;
  #rows: number;
  readonly #oversized = new Set<string>();

  constructor(limits: { readonly maxRows: number; readonly maxBytes: number }) {
    this.#maxRows = limits.maxRows;
    this.#maxBytes = limits.maxBytes;
    this.#rows = limits.maxRows;
  }

  /** Whether this much is enough for one transaction. */
  isFull(rows: number, bytes: number): boolean {
    return rows >= this.#rows || bytes >= this.#maxBytes;
  }

  /**
   * Renders and publishes chunk by chunk: only one chunk's records exist at a time, and no more of `all` is asked for.
   * @param publish publishes one chunk in one transaction, and gets what `render` gave about each row of it; its failure ends the whole
   */
  async inChunks<T, A>(
    all: Iterable<T>,
    render: (one: T) => Rendered<A>,
    publish: (chunk: TerminalRecords, about: readonly A[]) => Promise<void>,
  ): Promise<void> {
    const chunk = new TerminalRecords();
    let abouts: A[] = [];
    for (const one of all) {
      const { at, record, about } = render(one);
      chunk.add(at, record);
      abouts.push(about);
      if (!this.isFull(chunk.length, chunk.records.bytes)) continue;
      await publish(chunk, abouts);
      chunk.clear();
      abouts = [];
    }
    if (chunk.length > 0) await publish(chunk, abouts);
  }

  /** Whether Kafka refused the terminal record of this source record, alone in its transaction. */
  isOversized(partition: number, offset: number): boolean {
    // Seldom is there any: rows are not to pay for their place as text.
    return this.#oversized.size > 0 && this.#oversized.has(placeOf({ partition, offset }));
  }

  succeeded(): void {
    this.#rows = Math.min(this.#maxRows, this.#rows * 2);
  }

  /** A transaction with these records failed: too long for its timeout, perhaps, or too large. */
  failed(records: Coordinates, error: unknown): void {
    this.#rows = Math.max(1, Math.floor(Math.min(this.#rows, records.length) / 2));
    if (
      records.length === 1 &&
      error instanceof TransactionError &&
      error.failure === 'too_large'
    ) {
      this.#oversized.add(placeOf({ partition: records.partition(0), offset: records.offset(0) }));
    }
  }
}
