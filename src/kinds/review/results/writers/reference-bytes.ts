/**
 * Reader of references (reference.ts) from the bytes of a cell. Nearly all have the common form
 * `[partition, offset, timestamp, key, shape]` without escapes and perhaps signed, which is read
 * without decoding.
 */
import { type Reference, readReference } from '../../reference.ts';
import { FORGED, RowSignature } from '../../row-signature.ts';
import type { RowScanner } from '../row-scanner.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const ZERO = 0x30;
const OPENING = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING = 0x5d;
const OPENING_OBJECT = 0x7b;
const SPACE = 0x20;

const NULL = Buffer.from('null');
/** Digits of numbers below 2^31, below 2^53, and below the latest instant of a date. */
const PARTITION_DIGITS = 9;
const OFFSET_DIGITS = 15;
const TIMESTAMP_DIGITS = 15;

export class ReferenceBytes {
  /** -1 before a reference is read. */
  partition = -1;
  offset = 0;
  /** A reference in another form; then the members below are not set. */
  uncommon: Reference | undefined;
  timestampMs = 0;
  /** -1 without a key. */
  keyStart = -1;
  keyEnd = -1;
  /** -1 without a shape. */
  shapeStart = -1;
  shapeEnd = -1;
  #at = 0;
  #rowKey: string | undefined;
  #signature: RowSignature | undefined;
  /** Bytes of a quote: two when quotes are doubled. */
  #quote = 1;

  /**
   * Reads the reference in a cell of a row.
   * @param rowKey of the batch; undefined: its rows are not signed
   * @returns what is wrong with the reference, without showing it; undefined if it is valid
   */
  read(row: RowScanner, cell: number, rowKey?: string): string | undefined {
    this.uncommon = undefined;
    if (rowKey !== this.#rowKey) {
      this.#rowKey = rowKey;
      this.#signature = rowKey === undefined ? undefined : new RowSignature(rowKey);
    }
    const signature = this.#signature;
    const isDoubled = row.isDoubled(cell);
    this.#quote = isDoubled ? 2 : 1;
    const [start, end] = [row.start(cell), row.end(cell)];
    const signedEnd = signature?.verify(row.bytes, start, end, isDoubled);
    if (signedEnd === -1) {
      const unsigned = readReference(row.text(cell));
      return unsigned.ok ? FORGED : unsigned.error;
    }
    if (this.#readCommon(row.bytes, start, signedEnd ?? end, signature !== undefined))
      return undefined;
    this.partition = -1;
    const read = readReference(row.text(cell));
    if (!read.ok) return read.error;
    this.uncommon = read.value;
    this.partition = read.value.partition;
    this.offset = read.value.offset;
    return undefined;
  }

  /** @param isSigned whether the signature follows at `end` */
  #readCommon(bytes: Buffer, start: number, end: number, isSigned: boolean): boolean {
    if (bytes[start] !== OPENING) return false;
    this.#at = start + 1;
    this.partition = this.#count(bytes, PARTITION_DIGITS);
    this.offset = this.#count(bytes, OFFSET_DIGITS);
    this.timestampMs = this.#count(bytes, TIMESTAMP_DIGITS);
    if (this.partition < 0 || this.offset < 0 || this.timestampMs < 0) return false;
    this.keyStart = -1;
    this.keyEnd = -1;
    if (bytes[this.#at] === NULL[0]) {
      for (const byte of NULL) if (bytes[this.#at++] !== byte) return false;
    } else {
      this.keyStart = this.#at + this.#quote;
      this.keyEnd = this.#text(bytes, end);
      if (this.keyEnd < 0) return false;
    }
    this.shapeStart = -1;
    this.shapeEnd = -1;
    if (isSigned && bytes[this.#at + 1] === ZERO) this.#at += 2;
    else if (bytes[this.#at] === COMMA) {
      this.#at++;
      this.shapeStart = this.#at + this.#quote;
      this.shapeEnd = this.#text(bytes, end);
      if (this.shapeEnd < 0) return false;
    }
    if (!isSigned) return bytes[this.#at] === CLOSING && this.#at + 1 === end;
    return bytes[this.#at + 1] === OPENING_OBJECT && this.#at + 2 === end;
  }

  /** Reads a number and the comma behind it; -1 for anything else. */
  #count(bytes: Buffer, maxDigits: number): number {
    const start = this.#at;
    let at = start;
    let value = 0;
    let byte = bytes[at] as number;
    while (byte >= ZERO && byte < ZERO + 10 && at - start < maxDigits) {
      value = value * 10 + byte - ZERO;
      byte = bytes[++at] as number;
    }
    this.#at = at + 1;
    const isNumber = byte === COMMA && at > start && (bytes[start] !== ZERO || at === start + 1);
    return isNumber ? value : -1;
  }

  /** Skips a text in quotes. @returns its end; -1 for anything else, or a text with escapes */
  #text(bytes: Buffer, end: number): number {
    const quote = this.#quote;
    if (bytes[this.#at] !== QUOTE || bytes[this.#at + quote - 1] !== QUOTE) return -1;
    for (let at = this.#at + quote; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === BACKSLASH || byte < SPACE) return -1;
      if (byte === QUOTE) {
        this.#at = at + quote;
        return at;
      }
    }
    return -1;
  }
}
