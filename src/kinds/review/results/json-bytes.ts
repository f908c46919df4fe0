/** Writers of JSON from bytes of UTF-8, with the same output as JSON.stringify. Each returns where the next byte goes. */

const QUOTE = 0x22;
const DASH = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const LETTER_Z = 0x5a;
const SPACE = 0x20;

/** Bytes that one byte of a text becomes at most. */
export const MAX_ESCAPE = 6;
/** Bytes that are copied one by one; more by Node, where the call costs as much as these. */
const FEW_BYTES = 48;

/** Letters behind the backslash of control characters that have a short escape. */
const SHORT_ESCAPES: Readonly<Record<number, number>> = {
  8: 0x62,
  9: 0x74,
  10: 0x6e,
  12: 0x66,
  13: 0x72,
};

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

/** Copies a cell, with single quotes where `isDoubled`. */
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
    } else if (byte < SPACE) next = putControl(to, byte, next);
    else to[next++] = byte;
  }
  to[next++] = QUOTE;
  return next;
}

function putControl(to: Buffer, byte: number, start: number): number {
  let at = start;
  to[at++] = BACKSLASH;
  const short = SHORT_ESCAPES[byte];
  if (short !== undefined) {
    to[at++] = short;
    return at;
  }
  to[at++] = LETTER_U;
  to[at++] = ZERO;
  to[at++] = ZERO;
  to[at++] = ZERO + (byte >> 4);
  const low = byte & 0xf;
  to[at++] = low < 10 ? ZERO + low : 0x57 + low;
  return at;
}

const DAY_MS = 86_400_000;

/** Instants as Date.toISOString writes them. Those of one day share what was made for the first. */
export class InstantBytes {
  #day = Number.NaN;
  #date: Buffer = Buffer.alloc(0);

  /** @param ms since the epoch, not negative, no more than a date can hold */
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
    at = putTwo(to, Math.floor(minutes / 60), at);
    to[at++] = COLON;
    at = putTwo(to, minutes % 60, at);
    to[at++] = COLON;
    at = putTwo(to, seconds % 60, at);
    to[at++] = POINT;
    const rest = millis % 1000;
    to[at++] = ZERO + Math.floor(rest / 100);
    at = putTwo(to, rest % 100, at);
    to[at++] = LETTER_Z;
    return at;
  }
}

function putTwo(to: Buffer, value: number, at: number): number {
  const tens = Math.floor(value / 10);
  to[at] = ZERO + tens;
  to[at + 1] = ZERO + value - tens * 10;
  return at + 2;
}

/** Whether bytes are a number without an exponent. */
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
  while (at < end && (bytes[at] as number) >= ZERO && (bytes[at] as number) <= NINE) at++;
  return at;
}
