import type { SeededRandom } from '../../../support/memory/clock.ts';

export function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  const all = [...items];
  for (let last = all.length - 1; last > 0; last--) {
    const other = random.below(last + 1);
    [all[last], all[other]] = [all[other] as T, all[last] as T];
  }
  return all;
}
