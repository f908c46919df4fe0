/** Writers of CSV cells (RFC 4180, UTF-8). */
import { copied } from '../decision/byte-writer.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
/** Bytes of a cell that is quoted without a look at it: a reader skips quoted bytes faster. */
const LONG = 64;

/** Writes any bytes, quoted. @param to with room for twice the bytes and two more */
export function writeCell(
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
