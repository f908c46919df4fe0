/**
 * Scanner that finds the cells of one row in bytes, without decoding or copying them. It reads CSV
 * as csv-parse does (csv-parser.ts), to which it leaves text behind a closing quote and rows with
 * too many columns.
 */
import { grown } from '../../../core/bytes/grown.ts';

/** The row does not end in these bytes. */
export const NOT_WHOLE = -1;
/** Only csv-parse can find the end of this row. */
export const UNKNOWN = -2;

/** The limit of spreadsheets. */
export const MAX_COLUMNS = 16_384;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;

/** States of a scan. */
const AT_ROW = 0;
const AT_CELL = 1;
const IN_BARE = 2;
const IN_QUOTES = 3;

/** Bytes compared one by one before a native search, whose call costs as much as these. */
const SHORT_CELL = 48;

export class RowScanner {
  /** Cells of the row; 0 for an empty line. */
  cells = 0;
  /** Bytes that hold the row. */
  bytes: Buffer = Buffer.alloc(0);
  /** Per cell: its first byte, the byte behind it (without its quotes), 1 if two quotes are one. */
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  #doubled = new Uint8Array(64);
  #at = 0;
  #state = AT_ROW;

  /** Scans the row at `start`. @returns the start of the next row, NOT_WHOLE or UNKNOWN */
  scan(bytes: Buffer, start: number): number {
    this.cells = 0;
    this.#at = start;
    this.#state = AT_ROW;
    return this.resume(bytes);
  }

  /** Resumes a scan that ended with NOT_WHOLE. @param bytes the same bytes, and more behind them */
  resume(bytes: Buffer): number {
    this.bytes = bytes;
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
        if (cell === this.#starts.length) this.#grow();
        if (at === end) break;
        const isQuoted = bytes[at] === QUOTE;
        if (isQuoted) at++;
        this.#starts[cell] = at;
        this.#doubled[cell] = 0;
        state = isQuoted ? IN_QUOTES : IN_BARE;
      }
      if (state === IN_BARE) {
        let byte = bytes[at];
        while (byte !== COMMA && byte !== LF && at < end) byte = bytes[++at];
        if (at === end) break;
        if (byte === LF) {
          const hasReturn = at > (this.#starts[cell] as number) && bytes[at - 1] === CR;
          this.#ends[cell] = hasReturn ? at - 1 : at;
          this.cells = cell + 1;
          return at + 1;
        }
        this.#ends[cell++] = at++;
        state = AT_CELL;
        continue;
      }
      at = quoteFrom(bytes, at);
      // The next byte shows whether the quote ends the cell.
      if (at + 1 >= end) break;
      const next = bytes[at + 1];
      if (next === QUOTE) {
        this.#doubled[cell] = 1;
        at += 2;
      } else if (next === COMMA) {
        this.#ends[cell++] = at;
        at += 2;
        state = AT_CELL;
      } else if (next === LF) {
        this.#ends[cell] = at;
        this.cells = cell + 1;
        return at + 2;
      } else if (next === CR) {
        if (at + 2 === end) break;
        if (bytes[at + 2] !== LF) return UNKNOWN;
        this.#ends[cell] = at;
        this.cells = cell + 1;
        return at + 3;
      } else return UNKNOWN;
    }
    this.cells = cell;
    this.#at = at;
    this.#state = state;
    return NOT_WHOLE;
  }

  start(cell: number): number {
    return this.#starts[cell] as number;
  }

  end(cell: number): number {
    return this.#ends[cell] as number;
  }

  /** True if two quotes in the bytes of a cell are one. */
  isDoubled(cell: number): boolean {
    return this.#doubled[cell] === 1;
  }

  /** Returns the bytes of a cell; 0 for the column -1. */
  size(cell: number): number {
    return cell === -1 ? 0 : this.end(cell) - this.start(cell);
  }

  /** Returns the text of a cell. Bytes that are not UTF-8 become U+FFFD. */
  text(cell: number): string {
    const text = this.bytes.toString('utf8', this.start(cell), this.end(cell));
    return this.isDoubled(cell) ? text.replaceAll('""', '"') : text;
  }

  /** Returns the texts of all cells. */
  texts(): string[] {
    return Array.from({ length: this.cells }, (_, cell) => this.text(cell));
  }

  /** Lays out decoded cells as a row of UTF-8. */
  place(texts: readonly string[]): void {
    // One by one: halves of a surrogate pair in two cells would become one character.
    const cells = texts.map((text) => Buffer.from(text));
    let at = 0;
    this.cells = cells.length;
    while (this.#starts.length < cells.length) this.#grow();
    for (const [cell, { length }] of cells.entries()) {
      this.#starts[cell] = at;
      at += length;
      this.#ends[cell] = at;
    }
    this.#doubled.fill(0);
    this.bytes = Buffer.concat(cells);
  }

  #grow(): void {
    const cells = this.#starts.length * 2;
    this.#starts = grown(this.#starts, new Int32Array(cells));
    this.#ends = grown(this.#ends, new Int32Array(cells));
    this.#doubled = grown(this.#doubled, new Uint8Array(cells));
  }
}

/** Returns the offset of the next quote, or the length if there is none. */
function quoteFrom(bytes: Buffer, start: number): number {
  const near = Math.min(start + SHORT_CELL, bytes.length);
  for (let at = start; at < near; at++) if (bytes[at] === QUOTE) return at;
  if (near === bytes.length) return near;
  const at = bytes.indexOf(QUOTE, near);
  return at === -1 ? bytes.length : at;
}
