/**
 * Cache of values made from cells: a repeated cell is neither decoded nor read again. The memory is
 * bounded, because each row may have a new text: a full cache is emptied.
 */
import type { RowScanner } from '../../../../packages/client/src/results/row-scanner.ts';

/** Memory of an entry in addition to its text and its value. */
const ENTRY_BYTES = 200;
const MAX_BYTES = 256 * 1024;
/** Larger cells hardly repeat, and would take the room of many. */
const MAX_CELL_BYTES = 8 * 1024;

export class CellMemo<T> {
  readonly #make: (text: string) => T;
  readonly #bytesOf: (made: T) => number;
  /** Values by the bytes of the cell, without and with doubled quotes. */
  readonly #made = [new Map<string, T>(), new Map<string, T>()] as const;
  #heldBytes = 0;

  /** @param bytesOf memory of a value in addition to its text */
  constructor(make: (text: string) => T, bytesOf: (made: T) => number = () => 0) {
    this.#make = make;
    this.#bytesOf = bytesOf;
  }

  /** Returns the value of a cell of a row. */
  ofCell(row: RowScanner, cell: number): T {
    return this.at(row.bytes, row.start(cell), row.end(cell), row.isDoubled(cell));
  }

  /** @param isDoubled whether two quotes in the bytes are one */
  at(bytes: Buffer, start: number, end: number, isDoubled: boolean): T {
    if (end - start > MAX_CELL_BYTES) return this.#make(textOf(bytes, start, end, isDoubled));
    const values = this.#made[isDoubled ? 1 : 0];
    const cell = bytes.toString('latin1', start, end);
    const known = values.get(cell);
    if (known !== undefined) return known;
    const made = this.#make(textOf(bytes, start, end, isDoubled));
    this.#heldBytes += ENTRY_BYTES + 2 * cell.length + this.#bytesOf(made);
    if (this.#heldBytes > MAX_BYTES) {
      for (const full of this.#made) full.clear();
      this.#heldBytes = 0;
    } else values.set(cell, made);
    return made;
  }
}

function textOf(bytes: Buffer, start: number, end: number, isDoubled: boolean): string {
  const text = bytes.toString('utf8', start, end);
  return isDoubled ? text.replaceAll('""', '"') : text;
}
