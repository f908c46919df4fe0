/** Returns `did you mean …?` with the known name that was probably meant: within a few typos, or equal except for case, dashes and underscores. */
export function meant(name: string, known: readonly string[], otherwise: string): string {
  const close = nearest(name, known);
  return close === undefined ? otherwise : `did you mean ${close}?`;
}

function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, '');
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance =
      plain(candidate) === plain(name) ? 0 : editDistance(name, candidate, bestDistance);
    if (distance < bestDistance && distance < candidate.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Counts insertions, deletions, substitutions and swaps of neighbours between two names, up to `limit`. */
function editDistance(one: string, two: string, limit: number): number {
  if (Math.abs(one.length - two.length) >= limit) return limit;
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: two.length + 1 }, (_, j) => j);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= two.length; j++) {
      const same = one[i - 1] === two[j - 1] ? 0 : 1;
      let cost = Math.min(
        (previous[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + same,
      );
      const swapped = i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1];
      if (swapped) cost = Math.min(cost, (beforePrevious[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforePrevious = previous;
    previous = row;
  }
  return Math.min(limit, previous[two.length] ?? limit);
}
