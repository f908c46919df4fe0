/**
 * Chaos for a few minutes, with fixed seeds (docs/chaos.md): every fault of the harness strikes, half of them with one broker,
 * half with three. `npm run chaos` does the same for as long as one likes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from '../../dev/chaos/chaos.ts';
import { reportText } from '../../dev/chaos/report.ts';
import { ALL_KINDS } from '../../dev/chaos/schedule.ts';

const RUNS = [
  { seed: 20, brokers: 1, kinds: ALL_KINDS.filter((_, index) => index % 2 === 0) },
  { seed: 21, brokers: 3, kinds: ALL_KINDS.filter((_, index) => index % 2 === 1) },
] as const;

for (const run of RUNS) {
  test(`the promise holds under chaos: seed ${run.seed}, ${run.brokers} broker(s)`, async (t) => {
    const { signal } = t;
    const report = await runChaos({ ...run, minutes: 0.75, rate: 80, signal, onProgress: (message) => t.diagnostic(message) });
    t.diagnostic(reportText(report));
    assert.deepEqual(report.violations, []);
    assert.equal(report.lost + report.twice, 0);
    for (const { kind, hits } of report.faults) assert.ok(hits > 0, `"${kind}" never hit work in flight`);
    assert.equal(report.faults.length, run.kinds.length);
    assert.ok(report.records > 1_000, `${report.records} records`);
  });
}
