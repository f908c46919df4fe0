/** Position in the bytes of an Avro value, with the limits on the result. */
import { isUtf8 } from 'node:buffer';
import { VarintReader } from '../../../base/varint-reader.ts';
import { BrokenBytes, ValueLimits } from '../binary/limits.ts';

/** Reads the value at the position of `bytes` as JSON. @throws BrokenBytes */
export type ReadAvro = (bytes: ByteReader) => unknown;

export class ByteReader extends VarintReader {
  readonly limits: ValueLimits;

  /** @param start of the value within `bytes` */
  constructor(bytes: Buffer, start: number) {
    super();
    this.reset(bytes, start, bytes.length);
    this.limits = new ValueLimits(bytes.length - start);
  }

  /** Passes `length` bytes. @returns where they begin. @throws BrokenBytes, as all others */
  take(length: number): number {
    if (!(length >= 0 && length <= this.left)) throw new BrokenBytes('the data ends too early');
    this.at += length;
    return this.at - length;
  }

  slice(length: number): Buffer {
    const start = this.take(length);
    return this.bytes.subarray(start, this.at);
  }

  base64(length: number): string {
    return this.slice(length).toString('base64');
  }

  /** An Avro long: a zigzag varint of up to 64 bits, exact, a number where that is possible. */
  long(): number | bigint {
    const from = this.at;
    const value = this.varlong();
    if (this.at - from === 10 && (this.bytes[this.at - 1] as number) > 1)
      throw new BrokenBytes('an integer has more than 64 bits');
    return Number.isSafeInteger(value) ? value : this.exactVarlong(from);
  }

  /** An Avro int: 32 bits. */
  int(): number {
    const value = this.varlong();
    if ((value | 0) !== value) throw new BrokenBytes('an int has more than 32 bits');
    return value;
  }

  /** The length in front of bytes and texts. */
  length(): number {
    return this.varlong();
  }

  override text(): string {
    const bytes = this.slice(this.length());
    const text = bytes.toString('utf8');
    // Bytes that are not UTF-8 come out as U+FFFD, which may also be written out in full.
    if (text.includes('\uFFFD') && !isUtf8(bytes)) throw new BrokenBytes('a text is not UTF-8');
    return text;
  }
}
