/** Recognition of result files whose last row has no line end: RFC 4180 allows them, and a truncated file looks the same. */

/** Downloads in a row whose files end with the same row without a line end: then it is whole. */
const EQUAL_ENDS = 3;

/** Last rows without a line end of the downloads of one job. */
export class UnendedRows {
  #digest: string | undefined;
  #equal = 0;

  /** Digest of a row that is whole if the next file ends with it, too. */
  get wholeRow(): string | undefined {
    return this.#equal >= EQUAL_ENDS - 1 ? this.#digest : undefined;
  }

  note(digest: string): void {
    this.#equal = digest === this.#digest ? this.#equal + 1 : 1;
    this.#digest = digest;
  }
}
