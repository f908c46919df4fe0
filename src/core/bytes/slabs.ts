/**
 * Rows written one after the other into pooled buffers, called slabs. A row lies within one slab:
 * when a slab is full, the unfinished row moves to the next.
 *
 *   slabs.room(most);                        // ensures that `most` bytes are free from `at` on; may replace the buffer
 *   slabs.at = write(slabs.buffer, slabs.at);
 *   …                                        // `room` again for each further part of the row
 *   slabs.endRow();                          // or `dropRow()`, after an exception
 *
 * `written()` returns the rows by slab; `body()` returns them as one body.
 */

import type { BufferPool } from './buffer-pool.ts';
import type { EncodedBody } from './row-sink.ts';

/** Minimum and maximum size of a slab. Slabs grow, so that one row takes little memory and many rows need few slabs. */
const LEAST_BYTES = 8 * 1024;
const MOST_BYTES = 128 * 1024;
const EMPTY = Buffer.alloc(0);

/** Body in a pooled buffer. */
type PooledBody = Omit<EncodedBody, 'rows'>;

/** Returns a body of `bytes` bytes with undefined contents, to be filled by the caller. */
export function pooledBody(pool: BufferPool, bytes: number): PooledBody {
  let buffer: Buffer<ArrayBuffer> | undefined = pool.take(bytes);
  const body = buffer.subarray(0, bytes);
  const end = (over: 'give' | 'drop') => () => {
    if (buffer !== undefined) pool[over](buffer);
    buffer = undefined;
  };
  return { body, heldBytes: buffer.length, release: end('give'), drop: end('drop') };
}

export class Slabs {
  /** Current slab; empty before the first `room`. */
  buffer: Buffer<ArrayBuffer> = EMPTY;
  /** Offset of the next byte in `buffer`. */
  at = 0;
  readonly #pool: BufferPool;
  /** Full slabs, with the total length of their rows. */
  readonly #full: { readonly buffer: Buffer<ArrayBuffer>; readonly length: number }[] = [];
  #fullBytes = 0;
  #rowStart = 0;
  #heldBytes = 0;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** Bytes of all finished rows. */
  get length(): number {
    return this.#fullBytes + this.#rowStart;
  }

  /** Total size of the slabs in bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Offset of the current row in `buffer`. */
  get rowStart(): number {
    return this.#rowStart;
  }

  /** Makes room for `most` bytes. The current row may move: `buffer` and `at` may change. */
  room(most: number): void {
    if (this.at + most > this.buffer.length) this.#grow(most);
  }

  /** Finishes the current row. */
  endRow(): void {
    this.#rowStart = this.at;
  }

  /** Drops the current row. */
  dropRow(): void {
    this.at = this.#rowStart;
  }

  /** Returns all finished rows as views of the slabs. */
  written(): Buffer<ArrayBuffer>[] {
    const full = this.#full.map(({ buffer, length }) => buffer.subarray(0, length));
    return [...full, this.buffer.subarray(0, this.#rowStart)];
  }

  /** Copies all finished rows into one body and returns the slabs to the pool. */
  body(): PooledBody {
    const whole = pooledBody(this.#pool, this.length);
    let at = 0;
    for (const rows of this.written()) at += rows.copy(whole.body, at);
    this.release();
    return whole;
  }

  /** Drops all rows and returns the slabs to the pool. Idempotent. */
  release(): void {
    for (const { buffer } of this.#full) this.#pool.give(buffer);
    if (this.buffer !== EMPTY) this.#pool.give(this.buffer);
    this.#full.length = 0;
    this.buffer = EMPTY;
    this.#fullBytes = this.#heldBytes = this.#rowStart = this.at = 0;
  }

  #grow(most: number): void {
    const begun = this.at - this.#rowStart;
    const slab = Math.min(MOST_BYTES, Math.max(LEAST_BYTES, this.#heldBytes));
    // At least doubles, so that a large row with many parts is not copied for each part.
    const next = this.#pool.take(Math.max(begun + most, 2 * begun, slab));
    this.buffer.copy(next, 0, this.#rowStart, this.at);
    this.#heldBytes += next.length;
    if (this.#rowStart > 0) {
      this.#full.push({ buffer: this.buffer, length: this.#rowStart });
      this.#fullBytes += this.#rowStart;
    } else if (this.buffer !== EMPTY) {
      this.#heldBytes -= this.buffer.length;
      this.#pool.give(this.buffer);
    }
    this.buffer = next;
    this.#rowStart = 0;
    this.at = begun;
  }
}
