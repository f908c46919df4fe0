/** Slices of results with borrowed memory. After a slice is released, its columns are invalid and its bytes overwritten. */
import {
  type ReadRow,
  type ResultColumns,
  ResultSlice,
} from '../../../../src/core/bytes/result-slice.ts';
import { columnsOfRows } from '../../records/slices.ts';

export class LentSlices {
  /** Number of slices made. */
  made = 0;
  /** Current and highest number of unreleased slices. */
  lent = 0;
  mostLent = 0;

  of(rows: Iterable<ReadRow>): ResultSlice {
    this.made++;
    this.lent++;
    this.mostLent = Math.max(this.mostLent, this.lent);
    return new LentSlice(columnsOfRows(rows), () => this.lent--);
  }
}

class LentSlice extends ResultSlice {
  readonly #columns: ResultColumns | undefined;
  #released: (() => void) | undefined;

  constructor(columns: ResultColumns | undefined, released: () => void) {
    super(columns);
    this.#columns = columns;
    this.#released = released;
  }

  override release(): void {
    super.release();
    this.#columns?.numbers.fill(-1);
    this.#released?.();
    this.#released = undefined;
  }
}
