/** Writer of JSON from bytes of UTF-8 into a buffer, with the output of JSON.stringify. */
import { writeCount, writeDigits } from '../../number-bytes.ts';
import type { RowScanner } from '../row-scanner.ts';

const QUOTE = 0x22;
const DASH = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LETTER_Z = 0x5a;
const SPACE = 0x20;

/** Most bytes of JSON for one byte of text. */
export const MAX_ESCAPE = 6;
/** Larger copies are left to Node, whose call costs as much as copying these. */
const FEW_BYTES = 48;
const DAY_MS = 86_400_000;

/** JSON escapes of the control characters. */
const ESCAPES = Array.from({ length: SPACE }, (_, byte) =>
  Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)),
);

export class JsonWriter {
  /** The caller provides the room. */
  to: Buffer = Buffer.alloc(0);
  /** Offset of the next byte. */
  at = 0;
  #day = NaN;
  #date: Buffer = Buffer.alloc(0);

  byte(byte: number): void {
    this.to[this.at++] = byte;
  }

  bytes(from: Buffer): void {
    this.range(from, 0, from.length);
  }

  range(from: Buffer, start: number, end: number): void {
    this.at = copied(this.to, from, start, end, this.at);
  }

  text(text: string): void {
    this.at += this.to.write(text, this.at);
  }

  /** Writes a safe integer that is not negative. */
  count(value: number): void {
    this.at = writeCount(this.to, value, this.at);
  }

  /** Writes a cell as it is. */
  cell(row: RowScanner, cell: number): void {
    const { bytes } = row;
    const end = row.end(cell);
    if (!row.isDoubled(cell)) {
      this.range(bytes, row.start(cell), end);
      return;
    }
    for (let read = row.start(cell); read < end; read++) {
      const byte = bytes[read] as number;
      this.byte(byte);
      if (byte === QUOTE) read++;
    }
  }

  /** Writes a cell as a JSON string. @param skipped bytes at its beginning */
  cellString(row: RowScanner, cell: number, skipped = 0): void {
    this.string(row.bytes, row.start(cell) + skipped, row.end(cell), row.isDoubled(cell));
  }

  /** Writes bytes as a JSON string. @param isDoubled whether two quotes in them are one */
  string(from: Buffer, start: number, end: number, isDoubled: boolean): void {
    const { to } = this;
    let at = this.at;
    to[at++] = QUOTE;
    for (let read = start; read < end; read++) {
      const byte = from[read] as number;
      if (byte === QUOTE || byte === BACKSLASH) {
        to[at++] = BACKSLASH;
        to[at++] = byte;
        if (isDoubled && byte === QUOTE) read++;
      } else if (byte < SPACE) at += (ESCAPES[byte] as Buffer).copy(to, at);
      else to[at++] = byte;
    }
    to[at++] = QUOTE;
    this.at = at;
  }

  /**
   * Writes an instant as Date.toISOString. Instants of one day share the text of the date.
   * @param ms since the epoch, not negative, within the range of a date
   */
  instant(ms: number): void {
    const day = Math.floor(ms / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#date = Buffer.from(
        new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length),
      );
    }
    const millis = ms - day * DAY_MS;
    this.bytes(this.#date);
    this.#digits(Math.floor(millis / 3_600_000), 2, COLON);
    this.#digits(Math.floor(millis / 60_000) % 60, 2, COLON);
    this.#digits(Math.floor(millis / 1000) % 60, 2, POINT);
    this.#digits(millis % 1000, 3, LETTER_Z);
  }

  #digits(value: number, digits: number, mark: number): void {
    this.at = writeDigits(this.to, value, digits, this.at);
    this.to[this.at++] = mark;
  }
}

/** Copies bytes. @returns the offset of the next byte */
function copied(to: Buffer, from: Buffer, start: number, end: number, at: number): number {
  const size = end - start;
  if (size > FEW_BYTES) from.copy(to, at, start, end);
  else for (let byte = 0; byte < size; byte++) to[at + byte] = from[start + byte] as number;
  return at + size;
}

/** Returns an upper bound of the JSON string of bytes, counted byte by byte. */
export function stringSize(from: Buffer, start: number, end: number): number {
  let size = 2 + end - start;
  for (let read = start; read < end; read++) {
    const byte = from[read] as number;
    if (byte < SPACE) size += MAX_ESCAPE - 1;
    else if (byte === QUOTE || byte === BACKSLASH) size++;
  }
  return size;
}

/** True for bytes that are a JSON number without an exponent. */
export function isPlainNumber(bytes: Buffer, start: number, end: number): boolean {
  const first = bytes[start] === DASH ? start + 1 : start;
  let at = digitsFrom(bytes, first, end);
  if (at === first || (bytes[first] === ZERO && at > first + 1)) return false;
  if (at < end && bytes[at] === POINT) {
    const fraction = at + 1;
    at = digitsFrom(bytes, fraction, end);
    if (at === fraction) return false;
  }
  return at === end;
}

function digitsFrom(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) < ZERO + 10) at++;
  return at;
}
