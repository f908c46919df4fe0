/** Slices of rows that exist as objects. */

import type { ReadRow } from '../../../src/core/bytes/result-row.ts';
import { type ResultColumns, ResultSlice } from '../../../src/core/bytes/result-slice.ts';
import { SliceWriter } from '../../../src/core/bytes/slice-writer.ts';

const NONE: ResultColumns = {
  rows: 0,
  numbers: new Float64Array(0),
  bytes: new ArrayBuffer(0),
  outcomes: [],
  others: [],
};

/** Their records take all of the memory. */
export function columnsOfRows(rows: Iterable<ReadRow>): ResultColumns {
  const writer = new SliceWriter();
  for (const row of rows) writer.addRow(row);
  const end = writer.end;
  const columns = writer.finish() ?? NONE;
  return { ...columns, bytes: columns.bytes.slice(0, end) };
}

export function sliceOf(rows: Iterable<ReadRow>): ResultSlice {
  return new ResultSlice(columnsOfRows(rows));
}
