/**
 * Whether the last row of a result file without a line end at its end is whole. RFC 4180 lets files end so, but a file that was
 * cut looks the same: `approved` cut to `approv` would be published as a result.
 */
import { isJsonText } from '../../../base/exact-json.ts';

/** Rows remembered: each is forgotten when it is believed, so these are rows of files that never came whole. */
const MAX_REMEMBERED = 1000;

/** Characters of a reference that are remembered: partition and offset come first. */
const REFERENCE_LENGTH = 200;

/** Downloads that must end with the same row. Two are not enough: a file may be read twice while it is still being written. */
const SAME_ENDS = 3;

export class LastRows {
  readonly #seen = new Map<string, number>();
  #filesEndLines = false;

  /** A whole file had a line end at its end: the service ends its files so, and one without was cut. */
  endedLine(): void {
    this.#filesEndLines = true;
  }

  /**
   * True when the last cell shows by itself that nothing is wanting (a JSON list or object), or when earlier downloads
   * ended with the same row: a cut would hardly come again in the same place, and a service that ends its files so always does.
   * @param reference the row's reference, which no other row has
   * @param more whether the service wrote more rows than came: then the file was cut, however often in the same place
   */
  isWhole(cells: readonly string[], reference: string, more: boolean): boolean {
    const last = cells.at(-1) ?? '';
    if (/^\s*[[{]/.test(last) && isJsonText(last)) return true;
    if (more || this.#filesEndLines) return false;
    // Two beginnings of one row are the same when they are as long.
    const row = `${cells.reduce((length, cell) => length + cell.length, cells.length)} ${reference.slice(0, REFERENCE_LENGTH)}`;
    const times = (this.#seen.get(row) ?? 0) + 1;
    this.#seen.delete(row);
    if (times === SAME_ENDS) return true;
    this.#seen.set(row, times);
    const [oldest = row] = this.#seen.keys();
    if (this.#seen.size > MAX_REMEMBERED) this.#seen.delete(oldest);
    return false;
  }
}
