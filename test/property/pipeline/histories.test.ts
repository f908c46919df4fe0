/**
 * Tests the simulation itself (docs/internals/testing.md): the same script gives the same history, and a missing
 * rule of the protocol is found soon. test/chaos/simulation.test.ts plays many histories.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type HistoryReport,
  type PlayOptions,
  play,
} from '../../support/engine/simulation/history.ts';
import type { Rule } from '../../support/engine/simulation/judges/violation.ts';
import { planOf } from '../../support/engine/simulation/plan.ts';
import { WEAKENED } from '../../support/engine/simulation/search/weakened.ts';

test('a seed always gives the same history, and so does the list of its strikes', async () => {
  for (const seed of [3, 5, 8, 13]) {
    const drawn = await play(planOf(seed));
    assert.deepEqual(facts(await play(planOf(seed))), facts(drawn));
    const listed = await play(drawn.script);
    assert.deepEqual(facts(listed), facts(drawn));
  }
});

function facts({ script, faults, fingerprint, violation }: HistoryReport) {
  return { strikes: script.strikes, faults, fingerprint, violation: violation?.message };
}

/** Number of histories, from seed 1 on, in which each missing rule must be found. */
const TRIES = 50;
/** Rules whose violation counts. Errors of the harness and mere delays do not. */
const FOUND_BY: ReadonlySet<Rule> = new Set([
  'I1',
  'I2',
  'I3',
  'I4',
  'I5',
  'truth',
  'reason',
  'command',
]);

async function firstViolation(options: PlayOptions): Promise<HistoryReport> {
  for (let seed = 1; seed <= TRIES; seed++) {
    const report = await play(planOf(seed), options);
    if (report.violation !== undefined && FOUND_BY.has(report.violation.rule)) return report;
  }
  return assert.fail(`no judge found a violation in ${TRIES} histories`);
}

for (const [rule, weakened] of Object.entries(WEAKENED)) {
  test(`histories find the violation if ${rule}`, async () => {
    await firstViolation({ weakened });
  });
}
