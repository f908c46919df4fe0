/** Integers of variable length: seven bits per byte, lowest bits first. Exact up to 2^53 - 1. */

/** Writes a non-negative integer at `start`. @returns the offset of the next byte */
export function writeUnsigned(to: Buffer, value: number, start: number): number {
  let at = start;
  let rest = value;
  // Division instead of a shift, because a number may exceed 32 bits.
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) to[at++] = (rest & 0x7f) | 0x80;
  to[at++] = rest;
  return at;
}

/**
 * Reads a non-negative integer, and advances the cursor.
 * @throws RangeError if the bytes end within the number, or the number is too large
 */
export function readUnsigned(bytes: Uint8Array, cursor: { at: number }): number {
  const first = bytes[cursor.at] as number;
  if (first < 0x80) {
    cursor.at++;
    return first;
  }
  let value = 0;
  let scale = 1;
  for (;;) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw new RangeError('a number is cut short');
    value += (byte & 0x7f) * scale;
    // Also rejects NaN (0 · Infinity): after many bytes 0x80, the scale is infinite.
    if (!Number.isSafeInteger(value)) throw new RangeError('a number is too large');
    if (byte < 0x80) return value;
    scale *= 0x80;
  }
}

/** Uses arithmetic instead of bit operators, because a number may exceed 32 bits. */
const zigzag = (value: number): number => (value >= 0 ? value * 2 : -value * 2 - 1);

/** Writes a zigzag varint of Kafka's message format v2: a signed integer of at most 52 bits. */
export function writeVarint(to: Buffer, value: number, start: number): number {
  return writeUnsigned(to, zigzag(value), start);
}

/** Returns the number of bytes that `writeVarint` writes. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

// Bounds-checked reader of zigzag varints and length-prefixed bytes. Uses arithmetic instead of bit
// operators.

/** Empty buffer, shared because a new empty buffer would need more memory than a small batch. */
export const NO_BYTES: Buffer = Buffer.alloc(0);

/** Error for malformed binary data. Its message never contains content. */
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

  /** @throws MalformedError if the number is cut off or has more than five bytes */
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

  /** Reads an int64. It is exact up to 2^53. Larger numbers are rounded to a double. */
  varlong(): number {
    const odd = this.at < this.#end && ((this.bytes[this.at] as number) & 1) === 1;
    // Sums up half of the zigzag number. The whole number would be rounded from 2^52 on.
    let half = 0;
    for (let n = 0, scale = 0.5; n < 10; n++, scale *= 128) {
      if (this.at >= this.#end) throw new MalformedError('the data ends too early');
      const byte = this.bytes[this.at++] as number;
      // Nine bytes hold 63 bits, so only one bit of the tenth byte is used. The lowest bit of the
      // first is the sign.
      half += (byte & (n === 0 ? 0x7e : n === 9 ? 1 : 0x7f)) * scale;
      if (byte < 0x80) return odd ? -half - 1 : half;
    }
    throw new MalformedError('a number of a record has more than ten bytes');
  }

  /** Reads an int64 exactly, at an offset that `varlong` has already passed. */
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

  /** Skips a length and its bytes. @returns the length; a negative length means null, as in Java */
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
