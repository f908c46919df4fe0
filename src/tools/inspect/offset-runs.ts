/** Offset sets for people and machines: as runs of offsets, both ends inclusive. */
import type { OffsetSet } from '../../core/offsets/offset-set.ts';

export type OffsetRun = readonly [first: number, last: number];

/** The set's offsets as runs, ascending. */
export function runsOf(offsets: OffsetSet): OffsetRun[] {
  return [...offsets.ranges()].map(([from, to]) => [from, to - 1]);
}
