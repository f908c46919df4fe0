/** Counts the rows of a result file (service-interface.md 2.3) while its bytes pass by. */
import { type CsvRecord, CsvRecords } from './csv-records.ts';
import { markBytes } from './encoding.ts';

const MAX_ROW_BYTES = 64 * 1024 * 1024;
const SLICE_BYTES = 64 * 1024;

export interface Tally {
  /** Whether it has the header of a result file: an error page has not. */
  readonly isResults: boolean;
  /** Rows below the header; undefined when the file cannot be read as CSV. */
  readonly rows: number | undefined;
  /** Rows with the status ERROR. */
  readonly errors: number;
  /** It ends within a row. */
  readonly cut: boolean;
}

export class ResultTally {
  readonly #records = new CsvRecords(MAX_ROW_BYTES, { strict: false });
  #header:
    | { readonly width: number; readonly statuses: readonly number[]; readonly isResults: boolean }
    | undefined;
  #status: number | undefined;
  #ragged = false;
  #rows = 0;
  #errors = 0;
  #begun = false;
  #problem: string | undefined;

  async feed(chunk: Buffer): Promise<void> {
    const bytes = this.#begun ? chunk : chunk.subarray(markBytes(chunk));
    this.#begun = true;
    for (let start = 0; start < bytes.length && this.#problem === undefined; start += SLICE_BYTES) {
      const { records, problem } = await this.#records.feed(
        bytes.subarray(start, start + SLICE_BYTES),
      );
      this.#take(records);
      this.#problem = problem?.code;
    }
  }

  async finish(): Promise<Tally> {
    if (this.#problem === undefined) {
      const { records, problem } = await this.#records.finish();
      this.#take(records);
      this.#problem = problem?.code;
    }
    const rows = this.#problem === undefined && this.#header !== undefined ? this.#rows : undefined;
    const cut = this.#problem === 'CSV_QUOTE_NOT_CLOSED' || this.#ragged;
    return { isResults: this.#header?.isResults ?? false, rows, errors: this.#errors, cut };
  }

  close(): void {
    this.#records.close();
  }

  #take(records: readonly CsvRecord[]): void {
    for (const { cells, lineEnd } of records) {
      if (this.#header === undefined) {
        const names = cells.map((name) => name.trim().toLowerCase());
        const statuses = names.flatMap((name, index) => (name === 'status' ? [index] : []));
        const isResults = statuses.length > 0 || names.some((name) => / result$/.test(name));
        this.#header = { width: cells.length, statuses, isResults };
        continue;
      }
      this.#rows += 1;
      // An upload may have had a column of this name too: the service's holds its words.
      const { statuses } = this.#header;
      this.#status ??=
        statuses.find((index) => /^\s*(success|error)\s*$/i.test(cells[index] ?? '')) ??
        statuses[0] ??
        -1;
      if (cells[this.#status]?.trim().toUpperCase() === 'ERROR') this.#errors += 1;
      // Only the last one has no line end.
      this.#ragged ||= lineEnd === undefined && cells.length < this.#header.width;
    }
  }
}
