import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RemoteState } from '../../../src/core/outcome/follow-policy.ts';
import {
  type Fail,
  type FollowRules,
  type FollowState,
  heard,
  next,
  type Settle,
  type Wait,
} from '../../../src/core/outcome/follow-policy.ts';

const RULES: FollowRules = {
  maxReviewTimeMs: 1_000,
  onTimeout: 'wait',
  graceMs: 50,
};
const ERROR_RULES: FollowRules = { ...RULES, onTimeout: 'error' };
const CREATED: FollowState = {
  createdMs: 0,
  uploadUntilMs: 100,
  remote: undefined,
  sinceMs: 0,
};
const IN_TIME = 1_000;
const LATE = 1_001;

const WAIT: Wait = { do: 'wait', overdue: false };
const OVERDUE: Wait = { do: 'wait', overdue: true };
const SETTLE: Settle = { do: 'settle', isLast: false };
const SETTLE_LAST: Settle = { do: 'settle', isLast: true };
const fail = (as: Fail['as']): Fail => ({ do: 'fail', as });

type Step = Wait | Settle | Fail;

/** Expected steps for each state: in time, late with `onTimeout: wait`, and late with `onTimeout: error`. */
const STEPS: Readonly<Record<RemoteState | 'none', readonly [Step, Step, Step]>> = {
  none: [WAIT, OVERDUE, OVERDUE],
  pending: [WAIT, OVERDUE, fail('review_timeout')],
  unknown: [WAIT, OVERDUE, fail('review_timeout')],
  finished: [SETTLE, SETTLE, SETTLE_LAST],
  failed: [fail('batch_failed'), fail('batch_failed'), fail('batch_failed')],
  cancelled: [fail('batch_cancelled'), fail('batch_cancelled'), fail('batch_cancelled')],
  // The grace periods of upload and batch are long over.
  missing: [fail('batch_unknown'), fail('batch_unknown'), fail('batch_unknown')],
  waiting_for_upload: [fail('upload_lost'), fail('upload_lost'), fail('upload_lost')],
};

for (const [answer, [inTime, late, lateError]] of Object.entries(STEPS)) {
  test(`the state ${answer} leads to ${inTime.do} in time and to ${lateError.do} after maxReviewTime with onTimeout error`, () => {
    const step = (nowMs: number, rules: FollowRules) =>
      next(CREATED, answer as RemoteState | 'none', nowMs, rules);
    assert.deepEqual(step(IN_TIME, RULES), inTime);
    assert.deepEqual(step(IN_TIME, ERROR_RULES), inTime);
    assert.deepEqual(step(LATE, RULES), late);
    assert.deepEqual(step(LATE, ERROR_RULES), lateError);
  });
}

test('the grace period of an upload starts when the upload ends, however late the review is', () => {
  const state = { ...CREATED, uploadUntilMs: 5_100 };
  const step = (nowMs: number) => next(state, 'waiting_for_upload', nowMs, ERROR_RULES);
  assert.deepEqual(step(5_099), WAIT);
  assert.deepEqual(step(5_100), fail('upload_lost'));
});

test('a batch is given up once it was missing for its whole grace period, and any other state restarts the period', () => {
  const first = heard(CREATED, 'missing', 5_000);
  const again = heard(first, 'missing', 5_030);
  assert.deepEqual(next(again, 'missing', 5_049, RULES), WAIT);
  assert.deepEqual(next(again, 'missing', 5_050, RULES), fail('batch_unknown'));
  const back = heard(heard(again, 'pending', 5_040), 'missing', 5_045);
  assert.deepEqual(next(back, 'missing', 5_094, RULES), WAIT);
  assert.deepEqual(next(back, 'missing', 5_095, RULES), fail('batch_unknown'));
});
