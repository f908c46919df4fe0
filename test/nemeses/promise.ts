/** Required end of a chaos run (docs/internals/testing.md). */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { runChaos } from '../chaos/harness/chaos.ts';
import { reportText } from '../chaos/harness/report.ts';
import { KINDS } from '../chaos/load/pipelines.ts';

/** Tests run beside each other, so ages are for `npm run chaos`. */
const RUN = { minutes: 0.5, rate: 25, measuresAges: false };
const LEAST_RECORDS = { review: 400, import: 150, lookup: 90 };

/** Faults that come to something else where another broker goes on; the rest cost a third with one. */
export const OF_SEVERAL_BROKERS = [
  'kill -9 of a broker',
  'frozen broker',
  'replica cut off from Kafka',
  'half-open connections to Kafka',
  'late EndTxn',
  'late AddOffsetsToTxn',
];

/** Faults that take long to hit, and that resemble another one of the run or have a test of their own; for `npm run chaos`. */
export const LONGER_RUNS = [
  'scaling',
  'Kafka slow',
  'Kafka connections reset',
  'late TxnOffsetCommit',
  'kill -9 of the schema registry',
  'service slow',
  'service connections reset',
  'pause and resume',
  'wall clock stepped',
];

export interface Setup {
  readonly seed: number;
  readonly brokers: 1 | 3;
  readonly faults: readonly string[];
}

/** Every fault of the set-up strikes, and nothing is lost, nothing decided twice. */
export async function promiseHolds(t: TestContext, setup: Setup): Promise<void> {
  const { signal } = t;
  const report = await runChaos({
    ...RUN,
    ...setup,
    signal,
    onProgress: (message) => t.diagnostic(message),
  });
  t.diagnostic(reportText(report));
  assert.deepEqual(report.violations, []);
  for (const { kind, lost, twice, records } of report.pipelines) {
    assert.equal(lost + twice, 0, kind);
    assert.ok(records > LEAST_RECORDS[kind], `${records} records of ${kind}`);
  }
  assert.equal(report.pipelines.length, KINDS.length);
  for (const { name, hits } of report.faults)
    assert.ok(hits > 0, `"${name}" never hit work in flight`);
  assert.equal(report.faults.length, setup.faults.length);
}
