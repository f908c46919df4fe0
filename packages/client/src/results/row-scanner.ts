/**
 * Scanner that finds the cells of a row in bytes, without decoding or copying them. It splits rows
 * like csv-parse with `relax_quotes` and both kinds of line end. Quotes within an unquoted cell,
 * single CRs, and text after a closing quote are content.
 */
import { isUtf8 } from 'node:buffer';
import { grown } from '../base/grown.ts';
import type { ServiceError } from '../base/service-error.ts';
import { unreadable } from './result-header.ts';

/** Result of a scan if the row does not end within the given bytes. */
export const NOT_WHOLE = -1;
/** Maximum number of columns of a row, as in spreadsheets. */
export const MAX_COLUMNS = 16_384;

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;

/** Bytes that may end an unquoted cell. */
const ENDS_CELL = new Uint8Array(256);
ENDS_CELL[COMMA] = 1;
ENDS_CELL[LF] = 1;

/** Number of bytes to compare one by one before a native search, because the call costs about as much. */
const SHORT_CELL = 24;

export class RowScanner {
  /** Number of cells in the row. 0 for an empty line. */
  cells = 0;
  /** Buffer that contains the row. */
  bytes: Buffer = Buffer.alloc(0);
  /** For each cell: start and end offset (without its quotes), and 1 if it contains doubled quotes. */
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  #doubled = new Uint8Array(64);

  /**
   * Scans the row at `start`. @returns the start of the next row, or NOT_WHOLE
   * @throws ServiceError `protocol` for a row with too many columns
   */
  scan(bytes: Buffer, start: number): number {
    this.bytes = bytes;
    this.cells = 0;
    if (bytes[start] === LF) return start + 1;
    if (bytes[start] === CR && bytes[start + 1] === LF) return start + 2;
    const { length } = bytes;
    let at = start;
    for (let cell = 0; cell < MAX_COLUMNS; cell++) {
      if (cell === this.#starts.length) this.#grow();
      if (at >= length) return NOT_WHOLE;
      let end = at;
      let byte = bytes[at] as number;
      let isBare = true;
      if (byte === QUOTE) {
        end = this.#quoted(cell, at);
        if (end < 0) return NOT_WHOLE;
        byte = bytes[end] as number;
        isBare = ENDS_CELL[byte] === 0;
      }
      if (isBare) {
        while (ENDS_CELL[byte] === 0 && ++end < length) byte = bytes[end] as number;
        if (end === length) return NOT_WHOLE;
        const hasReturn = byte === LF && end > at && bytes[end - 1] === CR;
        this.#starts[cell] = at;
        this.#ends[cell] = hasReturn ? end - 1 : end;
        this.#doubled[cell] = 0;
      }
      at = end + 1;
      if (byte === LF) {
        this.cells = cell + 1;
        return at;
      }
    }
    throw tooWide();
  }

  start(cell: number): number {
    return this.#starts[cell] as number;
  }

  end(cell: number): number {
    return this.#ends[cell] as number;
  }

  /** Returns true if a cell contains doubled quotes. */
  isDoubled(cell: number): boolean {
    return this.#doubled[cell] === 1;
  }

  /** Returns the size of a cell in bytes, or 0 for column -1. */
  size(cell: number): number {
    return cell === -1 ? 0 : this.end(cell) - this.start(cell);
  }

  /** Returns the text of a cell. Bytes that are not UTF-8 become U+FFFD. */
  text(cell: number): string {
    const text = this.bytes.toString('utf8', this.start(cell), this.end(cell));
    return this.isDoubled(cell) ? text.replaceAll('""', '"') : text;
  }

  /** Returns true if a cell is valid UTF-8, and for column -1. */
  isUtf8(cell: number): boolean {
    return this.size(cell) === 0 || isUtf8(this.bytes.subarray(this.start(cell), this.end(cell)));
  }

  /** Returns the texts of all cells of the row. */
  texts(): string[] {
    return Array.from({ length: this.cells }, (_, cell) => this.text(cell));
  }

  /**
   * Scans a cell that begins with a quote. If text follows the closing quote, the cell counts as
   * unquoted.
   * @returns the offset of the comma or line feed after the cell, or of the text after the quote;
   * NOT_WHOLE if neither is in the bytes
   */
  #quoted(cell: number, start: number): number {
    const { bytes } = this;
    let isDoubled = 0;
    let quote = quoteFrom(bytes, start + 1);
    while (bytes[quote + 1] === QUOTE) {
      isDoubled = 1;
      quote = quoteFrom(bytes, quote + 2);
    }
    let next = quote + 1;
    if (bytes[next] === CR && (next + 1 >= bytes.length || bytes[next + 1] === LF)) next++;
    // Only the next byte shows whether the quote ends the cell.
    if (next >= bytes.length) return NOT_WHOLE;
    this.#starts[cell] = start + 1;
    this.#ends[cell] = quote;
    this.#doubled[cell] = isDoubled;
    return next;
  }

  #grow(): void {
    const cells = this.#starts.length * 2;
    this.#starts = grown(this.#starts, new Int32Array(cells));
    this.#ends = grown(this.#ends, new Int32Array(cells));
    this.#doubled = grown(this.#doubled, new Uint8Array(cells));
  }
}

/** Returns the offset of the next quote, or the length of the bytes if there is none. */
function quoteFrom(bytes: Buffer, start: number): number {
  const near = Math.min(start + SHORT_CELL, bytes.length);
  for (let at = start; at < near; at++) if (bytes[at] === QUOTE) return at;
  if (near === bytes.length) return near;
  const at = bytes.indexOf(QUOTE, near);
  return at === -1 ? bytes.length : at;
}

function tooWide(): ServiceError {
  return unreadable(`the result file has a row of more than ${MAX_COLUMNS} columns, or is not CSV`);
}
