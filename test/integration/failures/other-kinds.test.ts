/** Rows of the failure table about imports and lookups. The name of a test begins with the event of its row. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';
import { outcomes, run } from './scenes.ts';

const POISON = 'this text no import survives';
const record = (text: string) => ({ value: JSON.stringify({ type: 'user', data: { text } }) });
const lookup = (more: Readonly<Record<string, unknown>>) => ({ kind: 'lookup', ...more });

const { scene, sandbox } = await run(
  await testKafka(),
  {
    poisoned: {
      events: Array.from({ length: 8 }, (_, n) => record(n === 5 ? POISON : `text ${n}`)),
      pipeline: { kind: 'import', review: { pause: '100ms' } },
    },
    unknown: {
      events: [{ value: 'nobody' }],
      pipeline: lookup({ review: { grace: '1s' } }),
    },
    waited: {
      events: [{ value: 'late' }],
      pipeline: lookup({ review: { maxReviewTime: '1s' } }),
    },
  },
  {
    policy: {
      imports: { fail: [{ contains: POISON }] },
    },
  },
);
sandbox.makeDecisions([{ decision_id: 'late', content: 'text', pending: 'always' }]);

test('import FAILED: the records are submitted again, and halved until the poison record is alone', async () => {
  const poisoned = scene('poisoned');
  const terminal = await poisoned.ends();
  assert.deepEqual(
    outcomes(terminal),
    Array.from({ length: 8 }, (_, n) => (n === 5 ? 'ERROR batch_failed' : 'SUCCESS')),
  );
  const statuses = [0, 5].map((n) => JSON.parse(String(terminal[n]?.record.value)).import_status);
  assert.deepEqual(statuses, ['COMPLETE', null]);
  // Fails twice with eight records, then once with each half that contains the poison record.
  assert.ok((await poisoned.metric('jobs_failed_total', { reason: 'batch_failed' })) >= 4);
});

test('decision unknown to the service: after the grace period it ends with status ERROR', async () => {
  assert.deepEqual(outcomes(await scene('unknown').ends()), ['ERROR decision_unknown']);
});

test('decision stays PENDING: by default the connector waits for it and reports it once', async () => {
  const waited = scene('waited');
  await waited.untilMetric(
    'jobs_failed_total',
    { reason: 'review_overdue' },
    (value) => value === 1,
  );
  sandbox.makeDecisions([{ decision_id: 'late', content: 'text' }]);
  assert.deepEqual(outcomes(await waited.ends()), ['SUCCESS']);
  assert.equal(await waited.metric('jobs_failed_total', { reason: 'review_overdue' }), 1);
});
