import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decide, type FailureAction } from '../../../src/core/outcome/failure-policy.ts';
import type { JobFailure } from '../../../src/core/outcome/failure-table.ts';

const POLICY = { attempts: 3, maxRetryBatches: 9, onFailure: 'error' } as const;

/** Expected actions for a job that may be repeated whole, that may be halved, and otherwise. */
interface Row {
  readonly whole: FailureAction;
  readonly halvable: FailureAction;
  readonly otherwise: FailureAction;
}

const TABLE: Readonly<Record<JobFailure, Row>> = {
  batch_failed: { whole: 'retry', halvable: 'bisect', otherwise: 'error' },
  batch_cancelled: { whole: 'retry', halvable: 'bisect', otherwise: 'error' },
  upload_rejected: { whole: 'retry', halvable: 'bisect', otherwise: 'error' },
  // Halves at once, because the same body would be too large again.
  upload_too_large: { whole: 'bisect', halvable: 'bisect', otherwise: 'error' },
  // Retries indefinitely, because the service never received these batches.
  upload_lost: { whole: 'retry', halvable: 'retry', otherwise: 'retry' },
  upload_expired: { whole: 'retry', halvable: 'retry', otherwise: 'retry' },
  upload_blocked: { whole: 'retry', halvable: 'retry', otherwise: 'retry' },
  batch_unknown: { whole: 'retry', halvable: 'retry', otherwise: 'retry' },
  results_unreadable: { whole: 'retry', halvable: 'bisect', otherwise: 'error' },
  rows_missing: { whole: 'retry', halvable: 'bisect', otherwise: 'error' },
  rows_malformed: { whole: 'retry', halvable: 'bisect', otherwise: 'error' },
  review_timeout: { whole: 'error', halvable: 'error', otherwise: 'error' },
};

for (const failure of Object.keys(TABLE) as JobFailure[]) {
  test(`the policy for ${failure} matches its row, for every depth, attempt, remainder and number of batches`, () => {
    for (const depth of [0, 1, 5]) {
      for (const attempt of [1, 2, 3, 4, 20]) {
        for (const left of [1, 2, 1000]) {
          for (const spent of [1, 6, 7, 8, 9, 60]) {
            const mayRepeat = depth === 0 && attempt < POLICY.attempts;
            const mayHalve = left > 1 && spent + 2 <= POLICY.maxRetryBatches;
            const { whole, halvable, otherwise } = TABLE[failure];
            let expected = mayRepeat ? whole : mayHalve ? halvable : otherwise;
            // A single record cannot be halved.
            if (expected === 'bisect' && !mayHalve) expected = otherwise;
            const action = decide(failure, { depth, attempt }, left, spent, POLICY);
            assert.equal(
              action,
              expected,
              `depth ${depth}, attempt ${attempt}, ${left} left, ${spent} spent`,
            );
          }
        }
      }
    }
  });
}

test('with onFailure dead-letter the action error becomes dead_letter, and no other action changes', () => {
  for (const failure of Object.keys(TABLE) as JobFailure[]) {
    for (const [attempt, depth, left, spent] of [
      [1, 0, 5, 1],
      [3, 0, 5, 1],
      [3, 2, 1, 3],
      [3, 0, 5, 9],
    ] as const) {
      const action = decide(failure, { attempt, depth }, left, spent, POLICY);
      const chosen = decide(failure, { attempt, depth }, left, spent, {
        ...POLICY,
        onFailure: 'dead-letter',
      });
      assert.equal(chosen, action === 'error' ? 'dead_letter' : action);
    }
  }
});
