/** Writer of JSON text into a buffer that grows up to a limit. */
import { isUtf8 } from 'node:buffer';
import { MalformedError } from '../varint.ts';

/** Maximum size of the buffer that is kept for the next text. */
export const KEPT_BYTES: number = 64 * 1024;

/** Number of bytes to encode as base64 at a time. Must be a multiple of three. */
const BASE64_PART = 48 * 1024;

/** Maximum nesting of a value. It is limited because the writers are recursive. */
export const MAX_WRITTEN_LEVELS = 500;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Size of each byte in a JSON string, or 0 for a byte that is not ASCII. */
const SIZES = new Uint8Array(256);
SIZES.fill(6, 0, 0x20);
SIZES.fill(1, 0x20, 0x80);
/** Letter after the backslash, for bytes that have a short escape. */
const LETTERS = new Uint8Array(256);
for (const [byte, letter] of ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\'].map((pair) =>
  Buffer.from(pair),
) as unknown as [number, number][]) {
  SIZES[byte] = 2;
  LETTERS[byte] = letter;
}
const HEX = Buffer.from('0123456789abcdef');

/** Error for a text that exceeds the limit. */
export class TextTooLong extends Error {
  override readonly name = 'TextTooLong';
}

/** Returns the size that UTF-8 bytes have as a JSON string, or undefined if they are not UTF-8. */
export function stringSize(bytes: Buffer, start: number, end: number): number | undefined {
  let size = 2;
  let isAscii = true;
  for (let at = start; at < end; at++) {
    const one = SIZES[bytes[at] as number] as number;
    if (one === 0) {
      isAscii = false;
      size++;
    } else size += one;
  }
  return isAscii || isUtf8(bytes.subarray(start, end)) ? size : undefined;
}

/** Writes UTF-8 bytes as a JSON string. @returns the offset of the next byte */
export function writeString(
  to: Buffer,
  at: number,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  let out = at;
  to[out++] = QUOTE;
  for (let from = start; from < end; from++) {
    const byte = bytes[from] as number;
    if ((SIZES[byte] as number) <= 1) {
      to[out++] = byte;
      continue;
    }
    to[out++] = BACKSLASH;
    const letter = LETTERS[byte] as number;
    if (letter !== 0) to[out++] = letter;
    else {
      out += to.write('u00', out, 'latin1');
      to[out++] = HEX[byte >> 4] as number;
      to[out++] = HEX[byte & 0xf] as number;
    }
  }
  to[out++] = QUOTE;
  return out;
}

/** Maximum length to copy byte by byte, which is then faster than a native call. */
const SHORT_BYTES = 64;

function copyBytes(to: Buffer, at: number, bytes: Uint8Array, start: number, end: number): void {
  if (end - start > SHORT_BYTES) to.set(bytes.subarray(start, end), at);
  else for (let from = start; from < end; from++) to[at + from - start] = bytes[from] as number;
}

export class JsonWriter {
  #bytes: Buffer<ArrayBuffer> = Buffer.allocUnsafeSlow(KEPT_BYTES);
  #at = 0;
  #limit = 0;
  #level = 0;

  /** Begins a text. @param limit maximum size in bytes; above it, the other methods throw TextTooLong */
  begin(limit: number): void {
    this.#at = 0;
    this.#limit = limit;
    this.#level = 0;
  }

  /** Begins an array or object of the value. @throws MalformedError beyond MAX_WRITTEN_LEVELS */
  enter(): void {
    if (++this.#level > MAX_WRITTEN_LEVELS)
      throw new MalformedError(`the data is nested more than ${MAX_WRITTEN_LEVELS} levels deep`);
  }

  /** Ends an array or object. */
  leave(): void {
    this.#level--;
  }

  /** Writes an ASCII byte. */
  mark(byte: number): void {
    if (this.#at === this.#bytes.length || this.#at >= this.#limit) this.#grow(1);
    this.#bytes[this.#at++] = byte;
  }

  /** Writes bytes that are already JSON. */
  json(bytes: Uint8Array, start = 0, end = bytes.length): void {
    const size = end - start;
    this.#room(size);
    copyBytes(this.#bytes, this.#at, bytes, start, end);
    this.#at += size;
  }

  /** Writes JSON text that is ASCII, such as a number. */
  ascii(text: string): void {
    this.#room(text.length);
    this.#bytes.write(text, this.#at, 'latin1');
    this.#at += text.length;
  }

  /** Writes a JavaScript string as a JSON string. */
  string(text: string): void {
    const json = JSON.stringify(text);
    this.#room(Buffer.byteLength(json));
    this.#at += this.#bytes.write(json, this.#at);
  }

  /** Writes UTF-8 bytes as a JSON string. @returns false if they are not UTF-8 */
  utf8(bytes: Buffer, start: number, end: number): boolean {
    const size = stringSize(bytes, start, end);
    if (size === undefined) return false;
    this.#room(size);
    this.#at = writeString(this.#bytes, this.#at, bytes, start, end);
    return true;
  }

  /** Writes bytes as a JSON string in base64. */
  base64(bytes: Buffer, start: number, end: number): void {
    const size = Math.ceil((end - start) / 3) * 4;
    this.#room(size + 2);
    this.mark(QUOTE);
    // Encoding in parts keeps the temporary strings small.
    for (let at = start; at < end; at += BASE64_PART)
      this.ascii(bytes.toString('base64', at, Math.min(at + BASE64_PART, end)));
    this.mark(QUOTE);
  }

  /** Ends the text. Returns a copy of it. */
  finish(): Buffer {
    const copy = Buffer.from(this.#bytes.subarray(0, this.#at));
    this.drop();
    return copy;
  }

  /** Discards the text and frees its buffer. */
  drop(): void {
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(KEPT_BYTES);
  }

  #room(size: number): void {
    if (this.#at + size > this.#bytes.length || this.#at + size > this.#limit) this.#grow(size);
  }

  #grow(size: number): void {
    const needed = this.#at + size;
    if (needed > this.#limit) throw new TextTooLong(`it has more than ${this.#limit} bytes`);
    if (needed <= this.#bytes.length) return;
    const length = Math.min(
      Math.max(needed, this.#bytes.length * 2),
      Math.max(this.#limit, needed),
    );
    const longer = Buffer.allocUnsafeSlow(length);
    longer.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = longer;
  }
}
