/** Longest time without a decision in one partition, for each step of a rehearsal. */

export interface Step {
  readonly title: string;
  readonly fromMs: number;
}

/**
 * Assigns each pause between two decisions of a partition to the step in which the pause ended.
 * @param decidedMs times of the decisions of each partition, since the epoch
 * @returns the longest pause by title, without the steps in which no pause ended
 */
export function longestSilences(
  steps: readonly Step[],
  decidedMs: Iterable<readonly number[]>,
): Map<string, number> {
  const longest = new Map<string, number>();
  for (const times of decidedMs) {
    const sorted = times.toSorted((one, other) => one - other);
    for (const [index, endMs] of sorted.entries()) {
      const pauseMs = endMs - (sorted[index - 1] ?? endMs);
      const title = steps.findLast(({ fromMs }) => fromMs <= endMs)?.title;
      if (title !== undefined) longest.set(title, Math.max(longest.get(title) ?? 0, pauseMs));
    }
  }
  return longest;
}
