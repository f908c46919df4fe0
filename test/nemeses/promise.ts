/** What a run of the chaos harness must end with (docs/chaos.md). */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { runChaos } from '../../dev/chaos/chaos.ts';
import { reportText } from '../../dev/chaos/report.ts';

const RUN = { minutes: 1, rate: 60 };

export interface Setup {
  readonly seed: number;
  readonly brokers: 1 | 3;
  readonly kinds: readonly string[];
}

/** Every fault of the set-up strikes, and nothing is lost, nothing decided twice. */
export async function promiseHolds(t: TestContext, setup: Setup): Promise<void> {
  const { signal } = t;
  const report = await runChaos({ ...RUN, ...setup, signal, onProgress: (message) => t.diagnostic(message) });
  t.diagnostic(reportText(report));
  assert.deepEqual(report.violations, []);
  assert.equal(report.lost + report.twice, 0);
  for (const { kind, hits } of report.faults) assert.ok(hits > 0, `"${kind}" never hit work in flight`);
  assert.equal(report.faults.length, setup.kinds.length);
  assert.ok(report.records > 1_000, `${report.records} records`);
}
