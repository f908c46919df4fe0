/**
 * The rows of a stretch of a result file, column by column. They are made where the file is read, maybe in another thread: the
 * columns are plain values that can be moved there, and the slice is how they are read here.
 */
import type { BrokenRow, MalformedRow, ReadRow } from '../batch/read-row.ts';
import { readRecord } from './record-bytes.ts';

/** Per row: partition, offset, where its record ends in the bytes, outcome. */
export const ROW_NUMBERS = 4;

/** Outcome of a row: 1 for an error, and twice the place of its result in the list, counted from 1; no result is 0. */
export const outcomeOf = (isError: boolean, result: number): number =>
  (isError ? 1 : 0) + 2 * (result + 1);

export interface ResultColumns {
  readonly rows: number;
  /** ROW_NUMBERS for each row, perhaps with room behind them. */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** Terminal records (record-bytes.ts), one directly behind the other. */
  readonly bytes: ArrayBuffer;
  /** Each once. */
  readonly results: readonly string[];
  /** Rows without a terminal record. */
  readonly others: readonly (MalformedRow | BrokenRow)[];
}

export class ResultSlice {
  /** Rows that have a terminal record. */
  readonly length: number;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly others: ResultColumns['others'];
  readonly #numbers: Float64Array<ArrayBuffer>;
  readonly #results: readonly string[];
  #release: (() => void) | undefined;

  /** @param release gives the memory back; called once */
  constructor(columns: ResultColumns, release?: () => void) {
    this.length = columns.rows;
    this.bytes = Buffer.from(columns.bytes);
    this.others = columns.others;
    this.#numbers = columns.numbers;
    this.#results = columns.results;
    this.#release = release;
  }

  partition(row: number): number {
    return this.#numbers[row * ROW_NUMBERS] as number;
  }

  offset(row: number): number {
    return this.#numbers[row * ROW_NUMBERS + 1] as number;
  }

  /** Start of the record of a row in `bytes`. */
  start(row: number): number {
    return row === 0 ? 0 : this.end(row - 1);
  }

  end(row: number): number {
    return this.#numbers[row * ROW_NUMBERS + 2] as number;
  }

  isError(row: number): boolean {
    return (this.#outcome(row) & 1) === 1;
  }

  /** Result of the review; undefined when there is none. */
  result(row: number): string | undefined {
    return this.#results[(this.#outcome(row) >> 1) - 1];
  }

  /** The terminal record of a row, with views of the slice's bytes. */
  record(row: number): ReturnType<typeof readRecord> {
    return readRecord(this.bytes, this.start(row));
  }

  /** All rows as objects, for code off the hot path: those with a record, whose parts are views, then the others. */
  *[Symbol.iterator](): IterableIterator<ReadRow> {
    for (let row = 0; row < this.length; row++) {
      const [partition, offset, result] = [this.partition(row), this.offset(row), this.result(row)];
      yield {
        partition,
        offset,
        status: this.isError(row) ? 'error' : 'success',
        result,
        record: this.record(row),
      };
    }
    yield* this.others;
  }

  /** Gives the memory back: nothing may read the slice any more. Repeatable. */
  release(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }

  #outcome(row: number): number {
    return this.#numbers[row * ROW_NUMBERS + 3] as number;
  }
}
