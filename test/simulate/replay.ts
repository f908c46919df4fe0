/** One history, told step by step. */
import { play } from '../support/engine/simulation/history.ts';
import type { Script } from '../support/engine/simulation/script.ts';
import { WEAKENED } from '../support/engine/simulation/search/weakened.ts';

/** @returns the exit code */
export async function replay(script: Script, weaken: string | undefined): Promise<number> {
  const weakened = weaken === undefined ? undefined : WEAKENED[weaken];
  const report = await play(script, {
    weakened,
    trace: (line) => process.stdout.write(`${line}\n`),
  });
  const { violation, records, settledMs } = report;
  if (violation !== undefined) {
    process.stdout.write(`\nhistory ${script.seed} breaks ${violation.message}\n`);
    return 1;
  }
  process.stdout.write(
    `\nhistory ${script.seed}: ${records} records, settled ${settledMs / 1000} s after the last fault\n`,
  );
  return 0;
}
