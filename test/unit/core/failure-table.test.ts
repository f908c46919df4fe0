import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceFailure } from '../../../packages/client/src/base/service-error.ts';
import { reactionTo } from '../../../src/core/outcome/failure-policy.ts';
import {
  FAILURE_TABLE,
  type Reaction,
  type ServiceCall,
} from '../../../src/core/outcome/failure-table.ts';

/** All failures. A new failure does not compile unless it is added here. */
const FAILURES: Record<ServiceFailure, true> = {
  rejected: true,
  unauthorized: true,
  not_found: true,
  too_large: true,
  expired: true,
  unavailable: true,
  protocol: true,
  blocked: true,
};
/** Reactions that the pipeline implements for each call (ReactionOf). */
const POSSIBLE: Record<ServiceCall, readonly Reaction['do'][]> = {
  create: ['wait', 'reject_type'],
  upload: ['wait', 'fail'],
  status: ['wait'],
  results: ['download_again'],
};

test('every failure of every call is in exactly one row, with a reaction that is possible for the call', () => {
  for (const call of Object.keys(POSSIBLE) as ServiceCall[]) {
    for (const failure of Object.keys(FAILURES) as ServiceFailure[]) {
      const rows = FAILURE_TABLE.filter(({ calls }) => calls?.[call]?.includes(failure));
      assert.equal(rows.length, 1, `${call} ${failure}: ${rows.map(({ event }) => event)}`);
      assert.ok(POSSIBLE[call].includes(reactionTo(call, failure).do), `${call} ${failure}`);
    }
  }
});

test('a row with calls has a reaction, a failing reaction has a job failure, and no failure has two rules', () => {
  const rules = FAILURE_TABLE.flatMap(({ job }) => job ?? []).map(({ failure }) => failure);
  assert.equal(new Set(rules).size, rules.length);
  for (const { event, calls, reaction, job } of FAILURE_TABLE) {
    assert.equal(calls === undefined, reaction === undefined, event);
    if (reaction?.do === 'fail') assert.equal(job?.failure, reaction.as, event);
  }
});

test('only failures that may pass with unchanged content are waited for or downloaded again indefinitely', () => {
  const patient = (call: ServiceCall) =>
    (Object.keys(FAILURES) as ServiceFailure[]).filter((failure) => {
      const reaction = reactionTo(call, failure);
      return reaction.do === 'wait' || (reaction.do === 'download_again' && !reaction.counted);
    });
  assert.deepEqual(patient('upload'), ['unavailable']);
  assert.deepEqual(patient('results'), ['expired', 'unavailable', 'blocked']);
});
