/** Offset sets for people and machines: as runs of offsets, both ends inclusive. */
import type { OffsetSet } from '../core/offset-set.ts';

export type OffsetRun = readonly [first: number, last: number];

/** The set's offsets as runs, ascending. */
export function runsOf(offsets: OffsetSet): OffsetRun[] {
  const runs: [number, number][] = [];
  for (const offset of offsets) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === offset - 1) last[1] = offset;
    else runs.push([offset, offset]);
  }
  return runs;
}
