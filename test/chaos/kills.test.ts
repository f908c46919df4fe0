/** Short run of chaos with kills only. `npm run chaos` has all faults (docs/internals/testing.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChaos } from './harness/chaos.ts';

const FAULTS = [
  'kill -9 of a replica',
  'kill -9 of all replicas',
  'service down',
  'token endpoint down',
];

test('every record is settled exactly once while replicas are killed, sessions of logins end, and service and token endpoint are down', async (t) => {
  const report = await runChaos({
    minutes: 0.1,
    seed: 20,
    brokers: 1,
    rate: 25,
    reauth: 6,
    faults: FAULTS,
    signal: t.signal,
    onProgress: (message) => t.diagnostic(message),
  });
  t.diagnostic(report.text);
  assert.deepEqual(report.violations, []);
  for (const { kind, lost, twice, records } of report.pipelines) {
    assert.equal(lost + twice, 0, kind);
    assert.ok(records > 20, `${records} records of ${kind}`);
  }
  assert.deepEqual(
    report.faults.filter(({ hits }) => hits > 0).map(({ name }) => name),
    FAULTS,
  );
});
