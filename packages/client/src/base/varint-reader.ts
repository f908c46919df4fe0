/** Reader of zigzag varints and length-prefixed bytes, in plain arithmetic, within bounds. */

/** Shared, because an empty buffer costs more than a small batch. */
export const NO_BYTES: Buffer = Buffer.alloc(0);

/** Error for bytes that are not a record. Its message never holds content. */
export class MalformedError extends Error {}

export class VarintReader {
  bytes = NO_BYTES;
  #end = 0;
  at = 0;

  reset(bytes: Buffer, at: number, end: number): void {
    this.bytes = bytes;
    this.at = at;
    this.#end = end;
  }

  get left(): number {
    return this.#end - this.at;
  }

  /** @throws MalformedError if it does not end within five bytes; the other methods likewise */
  varint(): number {
    if (this.at >= this.#end) throw new MalformedError('the data ends too early');
    const first = this.bytes[this.at] as number;
    if (first < 0x80) {
      this.at++;
      return (first >>> 1) ^ -(first & 1);
    }
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.at >= this.#end) throw new MalformedError('the data ends too early');
      const byte = this.bytes[this.at++] as number;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
    throw new MalformedError('a number of a record has more than five bytes');
  }

  /** Reads an int64, exact up to 2^53 and rounded to a double beyond. */
  varlong(): number {
    const odd = this.at < this.#end && ((this.bytes[this.at] as number) & 1) === 1;
    // Half of the zigzag number: the number itself would be rounded from 2^52 on.
    let half = 0;
    for (let n = 0, scale = 0.5; n < 10; n++, scale *= 128) {
      if (this.at >= this.#end) throw new MalformedError('the data ends too early');
      const byte = this.bytes[this.at++] as number;
      // Nine bytes hold 63 bits: one bit of the tenth counts. The lowest bit is the sign.
      half += (byte & (n === 0 ? 0x7e : n === 9 ? 1 : 0x7f)) * scale;
      if (byte < 0x80) return odd ? -half - 1 : half;
    }
    throw new MalformedError('a number of a record has more than ten bytes');
  }

  /** Reads the int64 at a place that `varlong` has passed. */
  exactVarlong(from: number): bigint {
    let value = 0n;
    for (let at = from, shift = 0n; ; at++, shift += 7n) {
      const byte = this.bytes[at] as number;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    return BigInt.asIntN(64, (BigInt.asUintN(64, value) >> 1n) ^ -(value & 1n));
  }

  skip(count: number): void {
    if (count > this.left) throw new MalformedError('the data ends too early');
    this.at += count;
  }

  /** Skips a length and its bytes. @returns the length; a negative one means null, as in Java */
  part(): number {
    const length = this.varint();
    if (length > 0) this.skip(length);
    return length;
  }

  /** Reads length-prefixed bytes as a view. */
  view(): Buffer | null {
    const length = this.part();
    return length < 0 ? null : this.bytes.subarray(this.at - length, this.at);
  }

  text(): string {
    const length = this.varint();
    if (length < 0) throw new MalformedError('a header has no name');
    this.skip(length);
    return this.bytes.toString('utf8', this.at - length, this.at);
  }
}
