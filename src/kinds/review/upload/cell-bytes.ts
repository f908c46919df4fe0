/** Writers of texts as CSV cells (RFC 4180, UTF-8). A cell is quoted only if necessary. */

const QUOTE = 0x22;
/** Characters besides a quote that make a cell need quotes. */
const NEEDS_QUOTES = /[,\r\n]/;
/** Shorter texts are written unit by unit, which costs less than a call of Node. */
const SHORT = 24;
/** Shorter texts get the room of the worst case; the bytes of others are counted. */
const COUNTED = 16 * 1024;

/** UTF-16 units that are one byte each and need no quotes. */
const PLAIN = new Uint8Array(0x80).fill(1, 0x20, 0x7f);
PLAIN[QUOTE] = 0;
PLAIN[0x2c] = 0;

/** Returns an upper bound of the bytes of a text as a cell. */
export function cellRoom(text: string): number {
  // A unit becomes at most three bytes, and a quote two.
  return 2 + (text.length <= COUNTED ? text.length * 3 : Buffer.byteLength(text) + quotesIn(text));
}

/** Writes a text as a cell into room for `cellRoom`. @returns the offset of the next byte */
export function writeCell(to: Buffer, text: string, at: number): number {
  if (text.length <= SHORT) {
    const end = writePlain(to, text, at);
    if (end !== -1) return end;
  }
  if (!text.includes('"') && !NEEDS_QUOTES.test(text)) return at + to.write(text, at);
  to[at] = QUOTE;
  const end = writeDoubled(to, text, at + 1);
  to[end] = QUOTE;
  return end + 1;
}

/** Writes a text with doubled quotes. @returns the offset of the next byte */
export function writeDoubled(to: Buffer, text: string, at: number): number {
  const quotes = quotesIn(text);
  const end = at + to.write(text, at);
  // In place, from the end: the bytes behind the first quote move.
  let left = quotes;
  for (let from = end - 1; left > 0; from--) {
    const byte = to[from] as number;
    to[from + left] = byte;
    if (byte === QUOTE) to[from + --left] = QUOTE;
  }
  return end + quotes;
}

/** @returns -1 when the text is not plain; the bytes written are to be overwritten */
function writePlain(to: Buffer, text: string, at: number): number {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (PLAIN[unit] !== 1) return -1;
    to[at + i] = unit;
  }
  return at + text.length;
}

function quotesIn(text: string): number {
  let quotes = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) quotes++;
  return quotes;
}
