/** Slices of results whose memory is lent: once a slice is released, neither its bytes nor its columns say anything true. */

import type { ReadRow } from '../../../../src/core/bytes/result-row.ts';
import { ResultSlice } from '../../../../src/core/bytes/result-slice.ts';
import { columnsOfRows } from '../../records/slices.ts';

export class LentSlices {
  /** Slices made so far. */
  made = 0;
  /** Slices that were not released yet, now and at most. */
  lent = 0;
  mostLent = 0;

  of(rows: Iterable<ReadRow>): ResultSlice {
    const columns = columnsOfRows(rows);
    this.made++;
    this.lent++;
    this.mostLent = Math.max(this.mostLent, this.lent);
    return new ResultSlice(columns, () => {
      this.lent--;
      new Uint8Array(columns.bytes).fill(0xff);
      columns.numbers.fill(-1);
    });
  }
}
