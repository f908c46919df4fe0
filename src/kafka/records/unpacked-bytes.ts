/**
 * Queue of one batch's unpacked bytes, which arrive in stretches. Only records that span several
 * stretches are copied.
 */

import { NO_BYTES } from '../../../packages/client/src/base/varint.ts';
import type { Stretches } from './stretches.ts';

/** Number of stretches to unpack before the event loop runs. */
const STRETCHES_IN_A_ROW = 16;

export class UnpackedBytes {
  readonly #stretches: Stretches;
  readonly #maxBytes: number;
  /** Buffer that has the next byte at index `at`. */
  head = NO_BYTES;
  at = 0;
  #rest: Buffer[] = [];
  #length = 0;
  #unpacked = 0;
  #inARow = 0;
  #exhausted = false;
  #pending: Promise<Buffer | undefined> | undefined;

  constructor(stretches: Stretches, maxBytes: number) {
    this.#stretches = stretches;
    this.#maxBytes = maxBytes;
  }

  /** Number of bytes that have been unpacked but not dropped. */
  get length(): number {
    return this.#length;
  }

  /**
   * Unpacks until `count` bytes are available or the end is reached.
   * @returns false if this needs another turn of the event loop; then call `more`, which waits for
   * it
   * @throws Error if the bytes are damaged, or unpack to more than the maximum
   */
  need(count: number): boolean {
    while (this.#length < count && !this.#exhausted) {
      if (this.#inARow === STRETCHES_IN_A_ROW) return false;
      const next = this.#stretches.next();
      if (next instanceof Promise) {
        this.#pending = next;
        return false;
      }
      this.#inARow++;
      this.#take(next);
    }
    return true;
  }

  /** Continues after `need` has returned false. @throws Error like `need` */
  async more(count: number): Promise<void> {
    do {
      const pending = this.#pending;
      this.#pending = undefined;
      this.#inARow = 0;
      if (pending === undefined) await new Promise((resolve) => setImmediate(resolve));
      else this.#take(await pending);
    } while (!this.need(count));
  }

  /** Makes the next `count` bytes (or all, if there are fewer) contiguous in `head`. @returns their number */
  join(count: number): number {
    const wanted = Math.min(count, this.#length);
    if (this.head.length - this.at >= wanted) return wanted;
    const joined = Buffer.allocUnsafeSlow(wanted);
    let filled = this.head.copy(joined, 0, this.at);
    let used = 0;
    while (filled < wanted) {
      const part = this.#rest[used] as Buffer;
      const copied = part.copy(joined, filled);
      filled += copied;
      if (copied === part.length) used++;
      else this.#rest[used] = part.subarray(copied);
    }
    this.#rest = this.#rest.slice(used);
    this.head = joined;
    this.at = 0;
    return wanted;
  }

  /** Drops up to `count` available bytes. @returns their number */
  drop(count: number): number {
    const dropped = Math.min(count, this.#length);
    this.#length -= dropped;
    this.at += dropped;
    while (this.at >= this.head.length && this.#rest.length > 0) {
      this.at -= this.head.length;
      this.head = this.#rest.shift() as Buffer;
    }
    return dropped;
  }

  close(): void {
    this.#stretches.close();
  }

  #take(stretch: Buffer | undefined): void {
    if (stretch === undefined) {
      this.#exhausted = true;
      return;
    }
    this.#unpacked += stretch.length;
    if (this.#unpacked > this.#maxBytes) {
      this.close();
      throw new Error(`the batch unpacks to more than ${this.#maxBytes} bytes`);
    }
    this.#length += stretch.length;
    this.#rest.push(stretch);
    this.drop(0);
  }
}
