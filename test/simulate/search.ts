/** Plays many histories on all cores. Prints the progress, a summary of their events, and the violations. */
import type { SimulatedKind } from '../support/engine/simulation/kinds.ts';
import { playAll, type Tally } from '../support/engine/simulation/search/pool.ts';

const PROGRESS_MS = 5_000;
/** Number of failing seeds after which the search ends. */
const MAX_FOUND = 10;

export interface SearchOptions {
  readonly seeds: number;
  readonly from: number;
  readonly jobs: number;
  readonly weaken: string | undefined;
  readonly kind: SimulatedKind | undefined;
}

/** @returns the exit code */
export async function search({ seeds, from, jobs, weaken, kind }: SearchOptions): Promise<number> {
  const startedMs = performance.now();
  let toldMs = startedMs;
  let told = 0;
  const weakened = weaken === undefined ? '' : ` --weaken '${weaken}'`;
  const again = kind === undefined ? weakened : ` --kind ${kind}${weakened}`;
  const line = (tally: Tally) => {
    const seconds = (performance.now() - startedMs) / 1000;
    const perMinute = Math.round((tally.histories / seconds) * 60);
    return `${tally.histories} of ${seeds} histories in ${seconds.toFixed(0)} s (${perMinute} per minute), ${tally.found.length} with a violation`;
  };
  const tally = await playAll({
    from,
    seeds,
    jobs,
    weaken,
    kind,
    maxFound: MAX_FOUND,
    onProgress: (now) => {
      for (const { seed, message } of now.found.slice(told)) {
        process.stdout.write(
          `\nhistory ${seed} violates ${message}\n  npm run simulate -- --seed ${seed}${again}\n\n`,
        );
      }
      told = now.found.length;
      if (performance.now() - toldMs < PROGRESS_MS) return;
      toldMs = performance.now();
      process.stdout.write(`${line(now)}\n`);
    },
  });
  process.stdout.write(`${line(tally)}\n`);
  printSummary(tally);
  return tally.found.length === 0 ? 0 : 1;
}

function printSummary({ records, settledMs, faults, coverage }: Tally): void {
  process.stdout.write(
    `\n${records} records; the slowest history was settled ${settledMs / 1000} s after its last fault\n`,
  );
  for (const [title, counts] of [
    ['faults', faults],
    ['results', coverage],
  ] as const) {
    process.stdout.write(`\n${title}:\n`);
    for (const [name, count] of Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
      process.stdout.write(`  ${String(count).padStart(9)}  ${name}\n`);
  }
}
