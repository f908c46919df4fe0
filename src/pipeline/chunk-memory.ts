/**
 * What a shard's owners in this process have learnt about the size of its transactions. It outlives each of them: a
 * transaction that fails ends its owner, and the next one must not try the same again.
 */
import { bytesOf } from '../core/outgoing-bytes.ts';
import { TransactionError } from '../core/ports/kafka.ts';
import { type OutgoingRecord, placeOf, type SourceCoordinate } from '../core/record.ts';

/** A terminal record, and the source record that it ends. */
export interface TerminalRecord extends SourceCoordinate {
  readonly record: OutgoingRecord;
}

export class ChunkMemory {
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
   * @param render gives nothing for what is not to be published here
   * @param publish publishes one chunk in one transaction; its failure ends the whole.
   */
  async inChunks<T, R extends TerminalRecord>(
    all: Iterable<T>,
    render: (one: T) => R | undefined,
    publish: (chunk: readonly R[]) => Promise<void>,
  ): Promise<void> {
    let chunk: R[] = [];
    let bytes = 0;
    for (const one of all) {
      const terminal = render(one);
      if (terminal === undefined) continue;
      chunk.push(terminal);
      bytes += bytesOf(terminal.record);
      if (!this.isFull(chunk.length, bytes)) continue;
      await publish(chunk);
      chunk = [];
      bytes = 0;
    }
    if (chunk.length > 0) await publish(chunk);
  }

  /** Whether Kafka refused the terminal record of this source record, alone in its transaction. */
  isOversized(at: SourceCoordinate): boolean {
    // Seldom is there any: rows are not to pay for their place as text.
    return this.#oversized.size > 0 && this.#oversized.has(placeOf(at));
  }

  succeeded(): void {
    this.#rows = Math.min(this.#maxRows, this.#rows * 2);
  }

  /** A transaction with these records failed: too long for its timeout, perhaps, or too large. */
  failed(records: readonly SourceCoordinate[], error: unknown): void {
    this.#rows = Math.max(1, Math.floor(Math.min(this.#rows, records.length) / 2));
    const [only] = records;
    if (records.length === 1 && only !== undefined && error instanceof TransactionError && error.failure === 'too_large') {
      this.#oversized.add(placeOf(only));
    }
  }
}
