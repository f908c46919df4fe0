/** Buffer for the beginning of a row whose end has not arrived yet; its memory is reused. */

/** Memory that is kept for the next row. */
const KEPT_BYTES = 256 * 1024;
const LEAST_BYTES = 4 * 1024;

export class HeldBytes {
  #room: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** View of the held bytes: to be read before anything else is done here. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  add(from: Buffer, start: number, end: number): void {
    const length = this.#length + end - start;
    if (length > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(LEAST_BYTES, length, this.#room.length * 2));
      this.#room.copy(larger, 0, 0, this.#length);
      this.#room = larger;
    }
    from.copy(this.#room, this.#length, start, end);
    this.#length = length;
  }

  /** Forgets the first bytes, and so many of the last. */
  drop(first: number, last = 0): void {
    this.#room.copyWithin(0, first, this.#length - last);
    this.#length -= first + last;
    if (this.#length === 0 && this.#room.length > KEPT_BYTES) this.#room = Buffer.alloc(0);
  }
}
