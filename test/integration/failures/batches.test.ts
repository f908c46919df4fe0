/** Rows of the failure table about failing batches. The name of a test begins with the event of its row. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKafka } from '../../support/kafka/kafka.ts';
import { outcomes, run } from './scenes.ts';

const POISON = 'this text no batch survives';

const { scene } = await run(
  await testKafka(),
  {
    poisoned: {
      events: Array.from({ length: 16 }, (_, n) => ({
        value: JSON.stringify({ type: 'poisoned', content: n === 11 ? POISON : `text ${n}` }),
      })),
      // Nine of sixteen batches fail, so the type may pause temporarily.
      pipeline: { batch: { maxRows: 16 }, review: { pause: '100ms' } },
    },
    cancelled: { faults: [{ operation: 'review', action: 'batch_cancelled' }] },
    failed: {
      events: 6,
      faults: [{ operation: 'review', action: 'batch_error', times: 'always' }],
      pipeline: { batch: { maxRows: 1 }, review: { attempts: 20, pause: '500ms' } },
    },
    forgotten: {
      faults: [{ operation: 'get_batch', action: 'answer', status: 404, times: 'always' }],
      pipeline: { review: { grace: '1s' } },
    },
    waited: {
      faults: [{ operation: 'review', action: 'stuck', for: '3s' }],
      pipeline: { review: { maxReviewTime: '1s' } },
    },
    lost: {
      faults: [{ operation: 'upload', action: 'late_event', by: '1h' }],
      pipeline: { review: { grace: '1s' } },
    },
  },
  { policy: { review: { rules: [{ when: { contains: POISON }, failsBatch: true }] } } },
);

test('batch ERROR: the records are submitted again, and halved until the poison item is alone', async () => {
  const poisoned = scene('poisoned');
  const terminal = await poisoned.ends();
  assert.deepEqual(
    outcomes(terminal),
    Array.from({ length: 16 }, (_, n) => (n === 11 ? 'ERROR batch_failed' : 'SUCCESS')),
  );
  // Fails twice with 16 records, then once with each half that contains the poison item.
  assert.ok((await poisoned.metric('jobs_failed_total', { reason: 'batch_failed' })) >= 6);
  assert.ok(
    poisoned.batches.some(({ rows, batch_status }) => rows === 8 && batch_status === 'SUCCESS'),
    'halves were reviewed',
  );
});

test('batch CANCELLED: the records are submitted again', async () => {
  const cancelled = scene('cancelled');
  await cancelled.endsWell();
  // Two fetches may have split the events into two batches.
  const [first, ...later] = cancelled.batches.map(({ batch_status }) => batch_status);
  assert.equal(first, 'CANCELLED');
  assert.deepEqual(new Set(later), new Set(['SUCCESS']));
  assert.equal(await cancelled.metric('jobs_failed_total', { reason: 'batch_cancelled' }), 1);
});

test('batches of a type keep failing: the type pauses with an error in the log, and resumes when a batch succeeds', async () => {
  const failed = scene('failed');
  await failed.untilMetric('shards_paused', { reason: 'type_blocked' }, (value) => value >= 1);
  failed.lift();
  await failed.endsWell();
  await failed.untilMetric('shards_paused', { reason: 'type_blocked' }, (value) => value === 0);
  await failed.untilLogged(/"level":"error".*keep failing/);
});

test('batch unknown to the service: after a grace period its records are submitted in a new batch', async () => {
  const forgotten = scene('forgotten');
  await forgotten.untilMetric(
    'jobs_failed_total',
    { reason: 'batch_unknown' },
    (value) => value >= 1,
  );
  forgotten.lift();
  await forgotten.endsWell();
  assert.ok(forgotten.batches.length >= 2);
});

test('batch stays PENDING: the connector waits for it and counts it as overdue once', async () => {
  const waited = scene('waited');
  await waited.endsWell();
  assert.equal(waited.batches.length, 1);
  assert.equal(await waited.metric('jobs_failed_total', { reason: 'review_overdue' }), 1);
});

test('upload not seen by the service: after the grace period its records are submitted in a new batch', async () => {
  const lost = scene('lost');
  await lost.endsWell();
  assert.ok(lost.batches.length >= 2);
  assert.ok((await lost.metric('jobs_failed_total', { reason: 'upload_lost' })) >= 1);
});
