/** Source records as columns. */
import type { Coordinates } from '../../../src/core/bytes/encoded-records.ts';
import type { SourceCoordinate } from '../../../src/core/record.ts';

export function columnsOf(places: Iterable<SourceCoordinate>): Coordinates {
  const rows = [...places];
  const at = (row: number) => rows[row] as SourceCoordinate;
  return {
    length: rows.length,
    partition: (row) => at(row).partition,
    offset: (row) => at(row).offset,
  };
}
