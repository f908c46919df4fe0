/** Many histories, on all cores: progress, a summary of what happened in them, and the first that breaks a rule, cut down. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { play } from '../support/engine/simulation/history.ts';
import type { SimulatedKind } from '../support/engine/simulation/kinds.ts';
import type { Script } from '../support/engine/simulation/script.ts';
import { playAll, type Tally } from '../support/engine/simulation/search/pool.ts';
import { shrink } from '../support/engine/simulation/search/shrink.ts';
import { WEAKENED } from '../support/engine/simulation/search/weakened.ts';

const PROGRESS_MS = 5_000;
/** Failing seeds that are named; after so many the search ends. */
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
    return `${tally.histories} of ${seeds} histories in ${seconds.toFixed(0)} s (${perMinute} a minute), ${tally.found.length} break a rule`;
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
          `\nhistory ${seed} breaks ${message}\n  npm run simulate -- --seed ${seed}${again}\n\n`,
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
  const [first] = tally.found;
  if (first === undefined) return 0;
  await printShrunk(first.script, weaken, weakened);
  return 1;
}

function printSummary({ records, settledMs, faults, coverage }: Tally): void {
  process.stdout.write(
    `\n${records} records; the slowest history was settled ${settledMs / 1000} s after its last fault\n`,
  );
  for (const [title, counts] of [
    ['what was done to them', faults],
    ['what came of it', coverage],
  ] as const) {
    process.stdout.write(`\n${title}:\n`);
    for (const [name, count] of Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)))
      process.stdout.write(`  ${String(count).padStart(9)}  ${name}\n`);
  }
}

async function printShrunk(
  script: Script,
  weaken: string | undefined,
  again: string,
): Promise<void> {
  const weakened = weaken === undefined ? undefined : WEAKENED[weaken];
  process.stdout.write(`\ncutting history ${script.seed} down ...\n`);
  const { script: small, plays } = await shrink(script, { weakened });
  const file = path.join(tmpdir(), `history-${script.seed}.json`);
  writeFileSync(file, `${JSON.stringify(small, null, 1)}\n`);
  const { violation } = await play(small, { weakened });
  const strikes = small.strikes?.length ?? 0;
  process.stdout.write(
    `after ${plays} plays: ${small.events.length} events and ${strikes} faults break ${violation?.message}\n${JSON.stringify(small)}\n` +
      `  npm run simulate -- --replay ${file}${again}\n`,
  );
}
