/** Texts as CSV cells in a buffer: RFC 4180, UTF-8. A cell is quoted only where it must be. */

const QUOTE = 0x22;
/** Beside a quote: what makes a cell need quotes. */
const NEEDS_QUOTES = /[,\r\n]/;
/** Texts up to here are written unit by unit, which costs less than a call of Node. */
const SHORT = 24;
/** Texts up to here are given the room that the worst text of this length needs; of others it is counted. */
const COUNTED = 16 * 1024;

/** UTF-16 units that are a byte each and need no quotes. */
const PLAIN = new Uint8Array(0x80).fill(1, 0x20, 0x7f);
PLAIN[QUOTE] = 0;
PLAIN[0x2c] = 0;

/** Returns how many bytes a text may take as a cell. */
export function cellRoom(text: string): number {
  // A unit becomes three bytes at most, and a quote two.
  return 2 + (text.length <= COUNTED ? text.length * 3 : Buffer.byteLength(text) + quotesIn(text));
}

/** Writes a text as a cell where there is `cellRoom`. @returns where the next byte goes */
export function writeCell(to: Buffer, text: string, at: number): number {
  if (text.length <= SHORT) {
    const end = writePlain(to, text, at);
    if (end !== -1) return end;
  }
  const quotes = quotesIn(text);
  if (quotes === 0 && !NEEDS_QUOTES.test(text)) return at + to.write(text, at);
  to[at] = QUOTE;
  const end = at + 1 + to.write(text, at + 1);
  doubleQuotes(to, end, quotes);
  to[end + quotes] = QUOTE;
  return end + quotes + 1;
}

/** -1 when the text is not plain: what was written is to be overwritten. */
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

/** Doubles the last so many quotes before `end`, in place: what is behind the first of them moves. */
function doubleQuotes(bytes: Buffer, end: number, quotes: number): void {
  let left = quotes;
  for (let at = end - 1; left > 0; at--) {
    const byte = bytes[at] as number;
    bytes[at + left] = byte;
    if (byte === QUOTE) bytes[at + --left] = QUOTE;
  }
}
