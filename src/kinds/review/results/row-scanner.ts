/**
 * Cuts the cells of one row out of bytes, without decoding or copying them. It reads CSV as csv-parse does (record-parser.ts), except
 * for what it leaves to it: text behind a closing quote, and rows with too many columns.
 */
import { grown } from '../../../core/bytes/grown.ts';

/** The row does not end in these bytes. */
export const NOT_WHOLE = -1;
/** Only csv-parse knows where this row ends. */
export const UNKNOWN = -2;

/** As many as a spreadsheet has. */
export const MAX_COLUMNS = 16_384;

/** How a cell is written. */
export const BARE = 0;
export const QUOTED = 1;
/** Quoted, and each quote inside is doubled. */
export const DOUBLED = 2;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;

/** Where a scan stands. */
const AT_ROW = 0;
const AT_CELL = 1;
const IN_BARE = 2;
const IN_QUOTES = 3;

/** Bytes looked at one by one before a search is started, which costs as much as these. */
const SHORT_CELL = 48;

export class RowScanner {
  /** Cells of the row; 0 for an empty line. */
  cells = 0;
  /** Per cell: its first byte, the first one behind it (quotes around it not included), how it is written. */
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  forms = new Uint8Array(64);
  #at = 0;
  #state = AT_ROW;

  /** Scans the row that starts at `start`. @returns where the next row starts, NOT_WHOLE or UNKNOWN */
  scan(bytes: Buffer, start: number): number {
    this.cells = 0;
    this.#at = start;
    this.#state = AT_ROW;
    return this.resume(bytes);
  }

  /** Goes on where the scan stopped with NOT_WHOLE: `bytes` has the same bytes at the same places, and more behind them. */
  resume(bytes: Buffer): number {
    const end = bytes.length;
    let at = this.#at;
    let state = this.#state;
    if (state === AT_ROW) {
      if (bytes[at] === LF) return at + 1;
      if (bytes[at] === CR) {
        if (at + 1 === end) return NOT_WHOLE;
        if (bytes[at + 1] === LF) return at + 2;
      }
      if (at === end) return NOT_WHOLE;
      state = AT_CELL;
    }
    let cell = this.cells;
    for (;;) {
      if (state === AT_CELL) {
        if (cell === MAX_COLUMNS) return UNKNOWN;
        if (cell === this.starts.length) this.#grow();
        if (at === end) break;
        const isQuoted = bytes[at] === QUOTE;
        if (isQuoted) at++;
        this.starts[cell] = at;
        this.forms[cell] = isQuoted ? QUOTED : BARE;
        state = isQuoted ? IN_QUOTES : IN_BARE;
      }
      if (state === IN_BARE) {
        let byte = bytes[at];
        while (byte !== COMMA && byte !== LF && at < end) byte = bytes[++at];
        if (at === end) break;
        if (byte === LF) {
          const hasReturn = at > (this.starts[cell] as number) && bytes[at - 1] === CR;
          this.ends[cell] = hasReturn ? at - 1 : at;
          this.cells = cell + 1;
          return at + 1;
        }
        this.ends[cell++] = at++;
        state = AT_CELL;
        continue;
      }
      at = quoteFrom(bytes, at);
      // Whether a quote is the last of its cell is seen by what follows.
      if (at + 1 >= end) break;
      const next = bytes[at + 1];
      if (next === QUOTE) {
        this.forms[cell] = DOUBLED;
        at += 2;
      } else if (next === COMMA) {
        this.ends[cell++] = at;
        at += 2;
        state = AT_CELL;
      } else if (next === LF) {
        this.ends[cell] = at;
        this.cells = cell + 1;
        return at + 2;
      } else if (next === CR) {
        if (at + 2 === end) break;
        if (bytes[at + 2] !== LF) return UNKNOWN;
        this.ends[cell] = at;
        this.cells = cell + 1;
        return at + 3;
      } else return UNKNOWN;
    }
    this.cells = cell;
    this.#at = at;
    this.#state = state;
    return NOT_WHOLE;
  }

  /** The text of a cell. Bytes that are no UTF-8 become U+FFFD. */
  text(bytes: Buffer, cell: number): string {
    const text = bytes.toString('utf8', this.starts[cell], this.ends[cell]);
    return this.forms[cell] === DOUBLED ? text.replaceAll('""', '"') : text;
  }

  /** The texts of all cells. */
  texts(bytes: Buffer): string[] {
    return Array.from({ length: this.cells }, (_, cell) => this.text(bytes, cell));
  }

  #grow(): void {
    const cells = this.starts.length * 2;
    this.starts = grown(this.starts, new Int32Array(cells));
    this.ends = grown(this.ends, new Int32Array(cells));
    this.forms = grown(this.forms, new Uint8Array(cells));
  }
}

/** Offset of the next quote; the length when there is none. */
function quoteFrom(bytes: Buffer, start: number): number {
  const near = Math.min(start + SHORT_CELL, bytes.length);
  for (let at = start; at < near; at++) if (bytes[at] === QUOTE) return at;
  if (near === bytes.length) return near;
  const at = bytes.indexOf(QUOTE, near);
  return at === -1 ? bytes.length : at;
}
