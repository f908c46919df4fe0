/** Rows of the failure table: imports and lookups. The name of a test begins with the event of its row. */
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
    letters: {
      events: [record(POISON), record('fine')],
      pipeline: { kind: 'import', review: { pause: '100ms', onFailure: 'dead-letter' } },
    },
    unknown: {
      events: [{ value: 'nobody' }],
      pipeline: lookup({ review: { grace: '1s' } }),
    },
    unwanted: {
      events: [{ value: 'nobody' }],
      pipeline: lookup({ review: { grace: '1s', onFailure: 'dead-letter' } }),
    },
    waited: {
      events: [{ value: 'late' }],
      pipeline: lookup({ review: { maxReviewTime: '1s' } }),
    },
    ended: {
      events: [{ value: 'never' }],
      pipeline: lookup({
        review: { maxReviewTime: '1s', onTimeout: 'error' },
      }),
    },
    nonsense: {
      events: [{ value: 'page' }, { value: 'fine' }],
      faults: [
        {
          operation: 'get_decision',
          action: 'answer',
          status: 200,
          body: '<html>sign in</html>',
          times: 'always',
        },
      ],
      pipeline: lookup({
        review: { maxReviewTime: '8s', onTimeout: 'error' },
      }),
    },
  },
  {
    policy: {
      imports: { fail: [{ contains: POISON }] },
    },
  },
);

// The pause lasts for maxReviewTime only, so it is watched from the start, beside the tests of the other scenes.
const nonsensePauses = scene('nonsense').untilMetric(
  'shards_paused',
  { reason: 'service' },
  (value) => value === 1,
);
nonsensePauses.catch(() => undefined);

sandbox.makeDecisions([
  { decision_id: 'late', content: 'text', pending: 'always' },
  { decision_id: 'never', content: 'text', pending: 'always' },
  { decision_id: 'page', type: 'nonsense', content: 'text' },
  { decision_id: 'fine', content: 'text' },
]);

test('import FAILED: the records are submitted again, and halved until the poison record is alone', async () => {
  const poisoned = scene('poisoned');
  const terminal = await poisoned.ends();
  assert.deepEqual(
    outcomes(terminal),
    Array.from({ length: 8 }, (_, n) => (n === 5 ? 'ERROR batch_failed' : 'SUCCESS')),
  );
  const statuses = [0, 5].map((n) => JSON.parse(String(terminal[n]?.record.value)).import_status);
  assert.deepEqual(statuses, ['COMPLETE', null]);
  // Eight twice, then both halves of each half that holds it, down to itself.
  assert.ok((await poisoned.metric('jobs_failed_total', { reason: 'batch_failed' })) >= 4);
});

test('import FAILED: by configuration the poison record becomes a dead letter with the original', async () => {
  const terminal = await scene('letters').ends();
  assert.deepEqual(outcomes(terminal), ['review_failed', 'SUCCESS']);
  assert.equal(String(terminal[0]?.record.value), record(POISON).value);
});

test('decision unknown to the service: after the grace it ends with status ERROR', async () => {
  assert.deepEqual(outcomes(await scene('unknown').ends()), ['ERROR decision_unknown']);
});

test('decision unknown to the service: by configuration it becomes a dead letter with the original', async () => {
  const terminal = await scene('unwanted').ends();
  assert.deepEqual(outcomes(terminal), ['review_failed']);
  assert.equal(String(terminal[0]?.record.value), 'nobody');
});

test('decision stays PENDING: by default it is waited for, and reported once', async () => {
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

test('decision stays PENDING: by configuration it ends with status ERROR', async () => {
  assert.deepEqual(outcomes(await scene('ended').ends()), ['ERROR review_timeout']);
});

test('response that violates the API contract: a lookup logs call, id and cause, waits, and ends with the reason', async () => {
  const nonsense = scene('nonsense');
  const line = JSON.parse(await nonsense.untilLogged(/invalid response about a decision/));
  assert.equal(line.level, 'warn');
  assert.match(
    line.error,
    /get_decision at \S+\/v1\/decisions\/page answered 200, but the body is not JSON/,
  );
  await nonsensePauses;
  assert.deepEqual(outcomes(await nonsense.ends()), ['ERROR decision_unreadable', 'SUCCESS']);
  assert.equal(await nonsense.metric('shards_paused', { reason: 'service' }), 0);
  assert.equal(await nonsense.metric('jobs_failed_total', { reason: 'review_timeout' }), 1);
});
