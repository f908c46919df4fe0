import type { SourceRecord } from '../../../src/core/record.ts';

/** Returns a record as a plain object, for comparison. */
export const partsOf = ({
  partition,
  offset,
  timestampMs,
  key,
  value,
  headers,
}: SourceRecord): SourceRecord => ({
  partition,
  offset,
  timestampMs,
  key,
  value,
  headers,
});
