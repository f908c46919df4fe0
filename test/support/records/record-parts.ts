import type { SourceRecord } from '../../../src/core/record.ts';

/** A record as a plain object, whatever holds it: for comparisons. */
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
