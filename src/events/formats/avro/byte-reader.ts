/** Position in the bytes of an Avro value. */
import type { JsonWriter } from '../../../../packages/client/src/base/json/json-writer.ts';
import {
  MalformedError,
  VarintReader,
} from '../../../../packages/client/src/base/varint-reader.ts';

/** Writes the value at the position of `bytes` as JSON. @throws MalformedError, TextTooLong */
export type WriteAvro = (bytes: ByteReader, out: JsonWriter) => void;

export class ByteReader extends VarintReader {
  /** @param start of the value within `bytes` */
  constructor(bytes: Buffer, start: number) {
    super();
    this.reset(bytes, start, bytes.length);
  }

  /** Passes `length` bytes. @returns where they begin. @throws MalformedError, as all others */
  take(length: number): number {
    if (!(length >= 0 && length <= this.left)) throw new MalformedError('the data ends too early');
    this.at += length;
    return this.at - length;
  }

  slice(length: number): Buffer {
    const start = this.take(length);
    return this.bytes.subarray(start, this.at);
  }

  /** An Avro long: a zigzag varint of up to 64 bits, exact, a number where that is possible. */
  long(): number | bigint {
    const from = this.at;
    const value = this.varlong();
    if (this.at - from === 10 && (this.bytes[this.at - 1] as number) > 1)
      throw new MalformedError('an integer has more than 64 bits');
    return Number.isSafeInteger(value) ? value : this.exactVarlong(from);
  }

  /** An Avro int: 32 bits. */
  int(): number {
    const value = this.varlong();
    if ((value | 0) !== value) throw new MalformedError('an int has more than 32 bits');
    return value;
  }

  /** The length in front of bytes and texts. */
  length(): number {
    return this.varlong();
  }

  /** Writes bytes as base64. */
  writeBase64(length: number, out: JsonWriter): void {
    const start = this.take(length);
    out.base64(this.bytes, start, this.at);
  }

  /** Writes the text that comes next. */
  writeText(out: JsonWriter): void {
    const start = this.take(this.length());
    if (!out.utf8(this.bytes, start, this.at)) throw new MalformedError('a text is not UTF-8');
  }
}
