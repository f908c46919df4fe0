/**
 * Writers of JSON from bytes of UTF-8, with the output of JSON.stringify. Each returns the offset
 * of the next byte.
 */
import { writeDigits } from '../number-bytes.ts';

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

/** JSON escapes of the control characters. */
const ESCAPES = Array.from({ length: SPACE }, (_, byte) =>
  Buffer.from(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)),
);

/** Copies bytes. */
export function put(to: Buffer, from: Buffer, start: number, end: number, at: number): number {
  const size = end - start;
  if (size > FEW_BYTES) from.copy(to, at, start, end);
  else for (let byte = 0; byte < size; byte++) to[at + byte] = from[start + byte] as number;
  return at + size;
}

/** Copies all bytes of `from`. */
export function putAll(to: Buffer, from: Buffer, at: number): number {
  return put(to, from, 0, from.length, at);
}

/** Copies a cell. @param isDoubled whether two quotes in the cell are one */
export function putCell(
  to: Buffer,
  from: Buffer,
  start: number,
  end: number,
  isDoubled: boolean,
  at: number,
): number {
  if (!isDoubled) return put(to, from, start, end, at);
  let next = at;
  for (let read = start; read < end; read++) {
    const byte = from[read] as number;
    to[next++] = byte;
    if (byte === QUOTE) read++;
  }
  return next;
}

/** Writes the JSON string of a cell. @param isDoubled whether two quotes in the cell are one */
export function putString(
  to: Buffer,
  from: Buffer,
  start: number,
  end: number,
  isDoubled: boolean,
  at: number,
): number {
  let next = at;
  to[next++] = QUOTE;
  for (let read = start; read < end; read++) {
    const byte = from[read] as number;
    if (byte === QUOTE || byte === BACKSLASH) {
      to[next++] = BACKSLASH;
      to[next++] = byte;
      if (isDoubled && byte === QUOTE) read++;
    } else if (byte < SPACE) next = putAll(to, ESCAPES[byte] as Buffer, next);
    else to[next++] = byte;
  }
  to[next++] = QUOTE;
  return next;
}

/** Returns an upper bound of the bytes that `putString` writes, counted byte by byte. */
export function stringSize(from: Buffer, start: number, end: number): number {
  let size = 2 + end - start;
  for (let read = start; read < end; read++) {
    const byte = from[read] as number;
    if (byte < SPACE) size += MAX_ESCAPE - 1;
    else if (byte === QUOTE || byte === BACKSLASH) size++;
  }
  return size;
}

const DAY_MS = 86_400_000;

/** Writer of instants as Date.toISOString. Those of one day share the text of the date. */
export class InstantBytes {
  #day = Number.NaN;
  #date: Buffer = Buffer.alloc(0);

  /** @param ms since the epoch, not negative, within the range of a date */
  put(to: Buffer, ms: number, start: number): number {
    const day = Math.floor(ms / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#date = Buffer.from(
        new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length),
      );
    }
    const millis = ms - day * DAY_MS;
    const seconds = Math.floor(millis / 1000);
    const minutes = Math.floor(seconds / 60);
    let at = putAll(to, this.#date, start);
    at = writeDigits(to, Math.floor(minutes / 60), 2, at);
    to[at++] = COLON;
    at = writeDigits(to, minutes % 60, 2, at);
    to[at++] = COLON;
    at = writeDigits(to, seconds % 60, 2, at);
    to[at++] = POINT;
    at = writeDigits(to, millis % 1000, 3, at);
    to[at++] = LETTER_Z;
    return at;
  }
}

/** Whether bytes are a JSON number without an exponent. */
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
