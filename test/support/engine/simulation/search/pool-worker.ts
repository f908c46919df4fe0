/** Worker thread of the pool. It plays slices of seeds until it is terminated. */
import { parentPort } from 'node:worker_threads';
import { play } from '../history.ts';
import { planOf } from '../plan.ts';
import { addTo } from './coverage.ts';
import type { Found, Slice, SliceResult } from './pool.ts';
import { WEAKENED } from './weakened.ts';

async function playSlice({ from, seeds, weaken, kind }: Slice): Promise<SliceResult> {
  const weakened = weaken === undefined ? undefined : WEAKENED[weaken];
  const faults: Record<string, number> = {};
  const coverage: Record<string, number> = {};
  const found: Found[] = [];
  let records = 0;
  let settledMs = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const report = await play(planOf(seed, kind), { weakened });
    addTo(faults, report.faults);
    addTo(coverage, report.coverage);
    records += report.records;
    settledMs = Math.max(settledMs, report.settledMs);
    if (report.violation !== undefined) found.push({ seed, message: report.violation.message });
  }
  return { histories: seeds, records, settledMs, faults, coverage, found };
}

parentPort?.on('message', (slice: Slice) => {
  void playSlice(slice).then((result) => parentPort?.postMessage(result));
});
