/** Result slices made from row objects. */
import {
  type ReadRow,
  type ResultColumns,
  ResultSlice,
} from '../../../src/core/bytes/result-slice.ts';
import { SliceWriter } from '../../../src/core/bytes/slice-writer.ts';

/** Returns columns whose memory contains nothing but the rows. */
export function columnsOfRows(rows: Iterable<ReadRow>): ResultColumns | undefined {
  const writer = new SliceWriter();
  for (const row of rows) writer.addRow(row);
  const end = writer.end;
  const columns = writer.finish();
  return columns && { ...columns, bytes: columns.bytes.slice(0, end) };
}

export function sliceOf(rows: Iterable<ReadRow>): ResultSlice {
  return new ResultSlice(columnsOfRows(rows));
}
