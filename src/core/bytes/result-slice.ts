/**
 * Rows of a part of a result file, in columns. The columns are plain values, so the thread that
 * reads the file can transfer them to another thread. A ResultSlice gives access to the rows.
 */
import type { OutgoingRecord, Poison, SourceCoordinate } from '../record.ts';
import { readRecord } from './record-bytes.ts';

// Rows of a job's results. They come from its result file, or from responses about its records.

/** Properties of a terminal record that metrics count. Many rows share one object. */
export interface RowOutcome {
  readonly isError: boolean;
  /** Result of the review, if any. */
  readonly result?: string | undefined;
}

/** Row with the terminal record of a source record. */
export interface ResultRow extends SourceCoordinate, Omit<RowOutcome, 'isError'> {
  readonly status: 'success' | 'error';
  readonly record: OutgoingRecord;
}

/** Row that does not identify a source record. */
export interface MalformedRow {
  readonly malformed: string;
  /** True if the seal of the row is wrong or missing. */
  readonly forged?: boolean;
  /** Exception class and stack frames, if the connector itself failed on the row. */
  readonly crash?: string;
}

/** Row that identifies a source record but cannot become its terminal record. */
export interface BrokenRow extends SourceCoordinate {
  readonly poison: Poison;
}

/** Row that identifies a source record. */
export type ItemRow = (ResultRow | BrokenRow) & {
  /** True if the record is settled only because its time limit has passed. */
  readonly overdue?: boolean;
};

export type ReadRow = ItemRow | MalformedRow;

/** Numbers per row: partition, offset, end of the row's record in `bytes`, index of the row's outcome. */
export const ROW_NUMBERS = 4;

export interface ResultColumns {
  readonly rows: number;
  /** ROW_NUMBERS values per row; unused elements may follow. */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** Encoded terminal records (record-bytes.ts), without gaps between them. */
  readonly bytes: ArrayBuffer;
  /** Distinct outcomes. */
  readonly outcomes: readonly RowOutcome[];
  /** Rows without a terminal record. */
  readonly others: readonly (MalformedRow | BrokenRow)[];
}

const noColumns = (): ResultColumns => ({
  ...{ rows: 0, numbers: new Float64Array(0), bytes: new ArrayBuffer(0), outcomes: [], others: [] },
});

export class ResultSlice {
  /** Number of rows with a terminal record. */
  readonly length: number;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly others: ResultColumns['others'];
  readonly #numbers: Float64Array<ArrayBuffer>;
  readonly #outcomes: readonly RowOutcome[];

  constructor(columns: ResultColumns = noColumns()) {
    this.length = columns.rows;
    this.bytes = Buffer.from(columns.bytes);
    this.others = columns.others;
    this.#numbers = columns.numbers;
    this.#outcomes = columns.outcomes;
  }

  partition(row: number): number {
    return this.#numbers[row * ROW_NUMBERS] as number;
  }

  offset(row: number): number {
    return this.#numbers[row * ROW_NUMBERS + 1] as number;
  }

  /** Start of a row's record in `bytes`. */
  start(row: number): number {
    return row === 0 ? 0 : this.end(row - 1);
  }

  end(row: number): number {
    return this.#numbers[row * ROW_NUMBERS + 2] as number;
  }

  /** Returns the outcome of a row. Rows of the slice with the same outcome share one object. */
  outcome(row: number): RowOutcome {
    return this.#outcomes[this.#numbers[row * ROW_NUMBERS + 3] as number] as RowOutcome;
  }

  /** Returns the terminal record of a row, with views of the slice's bytes. */
  record(row: number): ReturnType<typeof readRecord> {
    return readRecord(this.bytes, this.start(row));
  }

  /** Yields all rows as objects: first the rows with a record, whose parts are views, then `others`. */
  *[Symbol.iterator](): IterableIterator<ReadRow> {
    for (let row = 0; row < this.length; row++) {
      const { isError, result } = this.outcome(row);
      yield {
        partition: this.partition(row),
        offset: this.offset(row),
        status: isError ? 'error' : 'success',
        result,
        record: this.record(row),
      };
    }
    yield* this.others;
  }

  /** Frees the memory without a garbage collection. The slice must not be read again. Idempotent. */
  release(): void {
    const { buffer } = this.bytes;
    if (!buffer.detached) buffer.transfer(0);
  }
}
