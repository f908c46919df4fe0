/** Buffer for the beginning of a row whose end has not arrived; its memory is reused. */

/** Memory kept for the next row. */
const KEPT_BYTES = 256 * 1024;

export class PartialRow {
  #room: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** View of the bytes, valid until the next change. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  /** @param most bytes that are ever needed, if that is known */
  add(from: Buffer, most = Infinity): void {
    const length = this.#length + from.length;
    if (length > this.#room.length) {
      const likely = Math.min(this.#room.length * 2, most);
      const larger = Buffer.allocUnsafeSlow(Math.max(length, likely));
      this.bytes.copy(larger);
      this.#room = larger;
    }
    from.copy(this.#room, this.#length);
    this.#length = length;
  }

  /** Removes the first bytes. */
  drop(first: number): void {
    const rest = this.bytes.subarray(first);
    this.#length = rest.length;
    if (this.#room.length > KEPT_BYTES && rest.length <= KEPT_BYTES / 2)
      this.#room = Buffer.from(rest);
    else rest.copy(this.#room);
  }
}
