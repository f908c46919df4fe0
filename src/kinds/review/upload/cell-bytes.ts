/** Writers of CSV cells (RFC 4180, UTF-8). A cell is quoted if it must be, or may be long. */
import { copied } from '../decision/byte-writer.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
/** Bytes of a cell that is quoted without a look at it: a reader skips quoted bytes faster. */
const LONG = 64;
/** Characters that make a cell need quotes. */
const NEEDS_QUOTES = /[",\r\n]/;

/** Returns an upper bound of the bytes of a text as a cell. */
export function cellRoom(text: string): number {
  return 2 + Buffer.byteLength(text) + quotesIn(text);
}

/** Writes a text into room for `cellRoom`. @returns the offset of the next byte */
export function writeCell(to: Buffer, text: string, at: number): number {
  if (!NEEDS_QUOTES.test(text)) return at + to.write(text, at);
  to[at] = QUOTE;
  const end = at + 1 + to.write(text.replaceAll('"', '""'), at + 1);
  to[end] = QUOTE;
  return end + 1;
}

/**
 * Writes bytes without quotes or line ends, such as the text of a JSON string without escapes.
 * @param to with room for two more bytes
 */
export function writePlainCell(
  from: Buffer,
  start: number,
  end: number,
  to: Buffer,
  at: number,
): number {
  let byte = start;
  const checked = end - start >= LONG ? start : end;
  while (byte < checked && from[byte] !== COMMA) byte++;
  if (byte === end) return copied(from, start, end, to, at);
  to[at] = QUOTE;
  const next = copied(from, start, end, to, at + 1);
  to[next] = QUOTE;
  return next + 1;
}

/** Writes JSON without line ends. @param to with room for twice the bytes and two more */
export function writeJsonCell(
  from: Buffer,
  start: number,
  end: number,
  to: Buffer,
  first: number,
): number {
  let at = first;
  to[at++] = QUOTE;
  for (let read = start; read < end; read++) {
    const byte = from[read] as number;
    to[at++] = byte;
    if (byte === QUOTE) to[at++] = QUOTE;
  }
  to[at++] = QUOTE;
  return at;
}

function quotesIn(text: string): number {
  let quotes = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) quotes++;
  return quotes;
}
