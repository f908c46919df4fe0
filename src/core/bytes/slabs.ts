/**
 * Rows written one behind the other into buffers of the pool, slab after slab. A row lies in one slab as a whole: when a slab is
 * full, the row that is being written moves to the next.
 *
 *   slabs.room(most);                        // at least `most` bytes are free behind `at`; the buffer may be another one now
 *   slabs.at = write(slabs.buffer, slabs.at);
 *   …                                        // `room` again for each further part of the row
 *   slabs.endRow();                          // or `dropRow()`, after an exception
 *
 * `written()` gives the rows, slab by slab, for whoever puts a body together; `body()` is the shortest way to one.
 */
import type { EncodedBody } from '../ports/row-sink.ts';
import type { BufferPool } from './buffer-pool.ts';

/** Slabs grow from the least to the most, so that a batch of one row is small and a batch of many has few slabs. */
const LEAST_BYTES = 8 * 1024;
const MOST_BYTES = 128 * 1024;
const EMPTY = Buffer.alloc(0);

/** A body in a buffer of the pool. */
type PooledBody = Omit<EncodedBody, 'rows'>;

/** Room for a body of so many bytes, with undefined contents: the caller fills it. */
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
  /** The slab that is being written; empty before the first `room`. */
  buffer: Buffer<ArrayBuffer> = EMPTY;
  /** Where the next byte goes in `buffer`. */
  at = 0;
  readonly #pool: BufferPool;
  /** Slabs that are full, and how much of each is rows. */
  readonly #full: { readonly buffer: Buffer<ArrayBuffer>; readonly length: number }[] = [];
  #fullBytes = 0;
  #rowStart = 0;
  #heldBytes = 0;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** Bytes of all rows that have ended. */
  get length(): number {
    return this.#fullBytes + this.#rowStart;
  }

  /** Bytes of the pool's buffers. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Number of full slabs: the place in `written()` of the slab that is being written. */
  get slab(): number {
    return this.#full.length;
  }

  /** Where the row that is being written starts in `buffer`. */
  get rowStart(): number {
    return this.#rowStart;
  }

  /** Makes room for `most` bytes behind `at`. The row that is being written may move to another slab: `buffer` and `at` change. */
  room(most: number): void {
    if (this.at + most > this.buffer.length) this.#grow(most);
  }

  /** The row is whole. */
  endRow(): void {
    this.#rowStart = this.at;
  }

  /** Takes back what was written of a row. */
  dropRow(): void {
    this.at = this.#rowStart;
  }

  /** All rows that have ended, as views of the slabs. */
  written(): Buffer<ArrayBuffer>[] {
    const full = this.#full.map(({ buffer, length }) => buffer.subarray(0, length));
    return [...full, this.buffer.subarray(0, this.#rowStart)];
  }

  /** All rows that have ended, as one body. The slabs go back to the pool. */
  body(): PooledBody {
    const whole = pooledBody(this.#pool, this.length);
    let at = 0;
    for (const rows of this.written()) at += rows.copy(whole.body, at);
    this.release();
    return whole;
  }

  /** Forgets all rows, and gives the slabs back to the pool. Repeatable. */
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
    // Twice what is copied: a large row with many parts is not copied for each of them.
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
