/**
 * Whether the last row of a result file without a line end at its end is whole. RFC 4180 lets files end so, but a file that was
 * cut looks the same: `approved` cut to `approv` would be published as a result.
 */
import { isJsonText } from './exact-json.ts';

/** Rows remembered: each is forgotten when it comes again, so these are rows of files that never came whole. */
const MAX_REMEMBERED = 1000;

export class LastRows {
  readonly #seen = new Set<string>();

  /**
   * True when the last cell shows by itself that nothing is wanting (a JSON list or object), or when an earlier download
   * ended with the same row: a cut would hardly come twice in the same place, and a service that ends its files so always does.
   * @param reference the row's reference, which no other row has
   * @param more whether the service wrote more rows than came: then the file was cut, however often in the same place
   */
  isWhole(cells: readonly string[], reference: string, more: boolean): boolean {
    const last = cells.at(-1) ?? '';
    if (/^\s*[[{]/.test(last) && isJsonText(last)) return true;
    if (more) return false;
    // Two beginnings of one row are the same when they are as long.
    const row = `${cells.reduce((length, cell) => length + cell.length, cells.length)} ${reference}`;
    if (this.#seen.delete(row)) return true;
    this.#seen.add(row);
    const [oldest = row] = this.#seen;
    if (this.#seen.size > MAX_REMEMBERED) this.#seen.delete(oldest);
    return false;
  }
}
