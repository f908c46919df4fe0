/** Summary of a run. */
import type { FileOutcome } from './file-run.ts';
import { SUITES, type Suite, suiteOf } from './suites.ts';

const SLOWEST = 10;

const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
const inAll = (
  outcomes: readonly FileOutcome[],
  of: (outcome: FileOutcome) => number | undefined,
) => outcomes.reduce((sum, outcome) => sum + (of(outcome) ?? 0), 0);

/** Returns the totals of each suite, with the summed times of its files, which run in parallel. */
export function suiteTotals(outcomes: readonly FileOutcome[]): string[] {
  const bySuite = Map.groupBy(outcomes, ({ plan }): Suite => suiteOf(plan.file));
  return SUITES.flatMap((suite) => {
    const mine = bySuite.get(suite);
    if (mine === undefined) return [];
    const [passed, failed] = [inAll(mine, (one) => one.passed), inAll(mine, (one) => one.failed)];
    const time = `${inSeconds(inAll(mine, (one) => one.tookMs))}, ${inSeconds(inAll(mine, (one) => one.cpuMs))} of a processor`;
    const files = inAll(mine, ({ plan: { bundle } }) => bundle?.length ?? 1);
    return [
      `${suite}: ${passed} passed, ${failed} failed; ${files} ${files === 1 ? 'file' : 'files'} in ${time}`,
    ];
  });
}

/** Returns the times of one file, with the CPU time of its processes if known. */
export function timesOf({ tookMs, cpuMs }: FileOutcome): string {
  return cpuMs === undefined
    ? inSeconds(tookMs)
    : `${inSeconds(tookMs)}, ${inSeconds(cpuMs)} of a processor`;
}

export function slowestFiles(outcomes: readonly FileOutcome[]): string[] {
  return outcomes
    .toSorted((a, b) => b.tookMs - a.tookMs)
    .slice(0, SLOWEST)
    .map(({ plan, tookMs, cpuMs }) => {
      const cpu = cpuMs === undefined ? 'unknown' : inSeconds(cpuMs);
      return `${inSeconds(tookMs).padStart(8)}  ${cpu.padStart(8)} of a processor  ${plan.file}`;
    });
}
