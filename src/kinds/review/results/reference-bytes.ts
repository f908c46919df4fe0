/** References (reference.ts) in the form that nearly all have, `[partition, offset, timestamp, key, shape]`, read from the bytes of a quoted cell. */

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
const OPENING = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING = 0x5d;
const LETTER_N = 0x6e;
const SPACE = 0x20;

const NULL = Buffer.from('null');
/** Digits that are less than 2^31, than 2^53, and than the latest instant of a date, without a look at their value. */
const PARTITION_DIGITS = 9;
const OFFSET_DIGITS = 15;
const TIMESTAMP_DIGITS = 15;

export class ReferenceBytes {
  partition = 0;
  offset = 0;
  timestampMs = 0;
  /** -1 without a key. */
  keyStart = -1;
  keyEnd = -1;
  /** -1 without a shape. */
  shapeStart = -1;
  shapeEnd = -1;
  #at = 0;

  /**
   * Reads the reference in a quoted cell, whose quotes are doubled. The bytes of key and shape stand for themselves: no escapes, no quotes,
   * no control characters.
   * @returns false for any other form, good or bad
   */
  read(bytes: Buffer, start: number, end: number): boolean {
    if (bytes[start] !== OPENING) return false;
    this.#at = start + 1;
    this.partition = this.#count(bytes, PARTITION_DIGITS);
    this.offset = this.#count(bytes, OFFSET_DIGITS);
    this.timestampMs = this.#count(bytes, TIMESTAMP_DIGITS);
    if (this.partition < 0 || this.offset < 0 || this.timestampMs < 0) return false;
    if (bytes[this.#at] === LETTER_N) {
      for (const byte of NULL) if (bytes[this.#at++] !== byte) return false;
      this.keyStart = -1;
      this.keyEnd = -1;
    } else {
      this.keyStart = this.#at + 2;
      this.keyEnd = this.#text(bytes, end);
      if (this.keyEnd < 0) return false;
    }
    this.shapeStart = -1;
    this.shapeEnd = -1;
    if (bytes[this.#at] === COMMA) {
      this.#at++;
      this.shapeStart = this.#at + 2;
      this.shapeEnd = this.#text(bytes, end);
      if (this.shapeEnd < 0) return false;
    }
    return bytes[this.#at] === CLOSING && this.#at + 1 === end;
  }

  /** A number and the comma behind it; -1 when there is none. */
  #count(bytes: Buffer, maxDigits: number): number {
    const start = this.#at;
    let at = start;
    let value = 0;
    let byte = bytes[at] as number;
    while (byte >= ZERO && byte <= NINE && at - start < maxDigits) {
      value = value * 10 + byte - ZERO;
      byte = bytes[++at] as number;
    }
    this.#at = at + 1;
    const isNumber = byte === COMMA && at > start && (bytes[start] !== ZERO || at === start + 1);
    return isNumber ? value : -1;
  }

  /** Passes over a text between doubled quotes. @returns its end; -1 when there is none, or one with escapes */
  #text(bytes: Buffer, end: number): number {
    if (bytes[this.#at] !== QUOTE || bytes[this.#at + 1] !== QUOTE) return -1;
    for (let at = this.#at + 2; at + 1 < end; at++) {
      const byte = bytes[at] as number;
      if (byte === BACKSLASH || byte < SPACE) return -1;
      if (byte === QUOTE) {
        this.#at = at + 2;
        return at;
      }
    }
    return -1;
  }
}
