/**
 * Guard against truncated result files. RFC 4180 allows a file without a final line end, but a
 * truncated file looks the same: `approved` cut to `approv` would be published as a result.
 */
import { JsonScanner } from '../../../base/json/scanner.ts';
import type { RowScanner } from './row-scanner.ts';

/** Rows remembered. Accepted rows are forgotten, so these are of files that were never whole. */
const MAX_REMEMBERED = 1000;

/** Characters of a reference remembered: its code comes first. */
const REFERENCE_LENGTH = 40;

/** Downloads that must end with the same row. A file may be read twice while it is written. */
const SAME_ENDS = 3;

export class LastRows {
  readonly #seen = new Map<string, number>();
  #filesEndLines = false;

  /** To be called after a whole file with a final line end: one without is truncated. */
  endedLine(): void {
    this.#filesEndLines = true;
  }

  /**
   * Returns true if the last cell is complete by itself (a JSON list or object), or if earlier
   * downloads ended with the same row: truncation hardly repeats at the same place.
   * @param reference the text of the row's reference, which is unique
   * @param more whether the service reported more rows: then the file is truncated
   */
  isWhole(row: RowScanner, reference: string, more: boolean): boolean {
    const last = row.text(row.cells - 1);
    if (/^\s*[[{]/.test(last) && isJson(last)) return true;
    if (more || this.#filesEndLines) return false;
    // Beginnings of a row are equal if they are equally long.
    const length = row.end(row.cells - 1) - row.start(0);
    const key = `${length} ${reference.slice(0, REFERENCE_LENGTH)}`;
    const times = (this.#seen.get(key) ?? 0) + 1;
    this.#seen.delete(key);
    if (times === SAME_ENDS) return true;
    this.#seen.set(key, times);
    const [oldest = key] = this.#seen.keys();
    if (this.#seen.size > MAX_REMEMBERED) this.#seen.delete(oldest);
    return false;
  }
}

function isJson(text: string): boolean {
  return new JsonScanner([]).scan(Buffer.from(text)) === undefined;
}
