/** Counts the rows of a result file (service-interface.md 2.3) while its bytes pass by. */
import { type CsvRecord, CsvRecords } from './csv-records.ts';
import { markBytes } from './encoding.ts';

const MAX_ROW_BYTES = 64 * 1024 * 1024;
const SLICE_BYTES = 64 * 1024;

export interface Tally {
  /** Rows below the header; undefined when the file cannot be read as CSV. */
  readonly rows: number | undefined;
  /** Rows with the status ERROR. */
  readonly errors: number;
  /** It ends within a row. */
  readonly cut: boolean;
}

export class ResultTally {
  readonly #records = new CsvRecords(MAX_ROW_BYTES, { strict: false });
  #status: number | undefined;
  #rows = 0;
  #errors = 0;
  #begun = false;
  #problem: string | undefined;

  async feed(chunk: Buffer): Promise<void> {
    const bytes = this.#begun ? chunk : chunk.subarray(markBytes(chunk));
    this.#begun = true;
    for (let start = 0; start < bytes.length && this.#problem === undefined; start += SLICE_BYTES) {
      const { records, problem } = await this.#records.feed(bytes.subarray(start, start + SLICE_BYTES));
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
    const rows = this.#problem === undefined && this.#status !== undefined ? this.#rows : undefined;
    return { rows, errors: this.#errors, cut: this.#problem === 'CSV_QUOTE_NOT_CLOSED' };
  }

  close(): void {
    this.#records.close();
  }

  #take(records: readonly CsvRecord[]): void {
    for (const { cells } of records) {
      if (this.#status === undefined) {
        this.#status = cells.findIndex((name) => name.trim().toLowerCase() === 'status');
        continue;
      }
      this.#rows += 1;
      if (cells[this.#status]?.trim().toUpperCase() === 'ERROR') this.#errors += 1;
    }
  }
}
