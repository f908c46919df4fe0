/** Corrections of the wall clock do not affect intervals in the process. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('a buffer is sealed at its maximum age although the wall clock is set back', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 100, maxAgeMs: 5_000 } } });
  world.start();
  world.event(0);
  await world.clock.advance(2_000);
  assert.equal(world.service.batches.size, 0);
  world.clock.correct(-HOUR);
  await world.clock.advance(5_000);
  assert.equal(world.service.batches.size, 1);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

test('progress is committed and an idle owner proves its ownership although the wall clock is set back', async () => {
  const world = new World({
    partitions: 1,
    options: { progressIntervalMs: 10_000, ownershipCheckIntervalMs: MINUTE },
  });
  const instance = world.start();
  await world.clock.advance(2_000);
  world.clock.correct(-HOUR);
  world.put(0, sourceValue({ type: 'a', content: 'x', skip: true }));
  await world.clock.advance(15_000);
  assert.equal(world.committed(0).offset, 1);
  const committed = () => instance.metrics.counter('transactions_total', { outcome: 'committed' });
  const before = committed();
  world.clock.correct(-HOUR);
  await world.clock.advance(3 * MINUTE);
  assert.ok(committed() - before >= 2, `${committed() - before} probes in three minutes`);
});

test('a member still checks its membership before an upload although the wall clock is set back', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 100, maxAgeMs: 45_000 } },
  });
  const instance = world.start();
  await world.clock.advance(2_000);
  world.event(0);
  await world.clock.advance(2_000);
  instance.group.isolate();
  world.clock.correct(-HOUR);
  await world.clock.advance(MINUTE);
  const [batch, ...others] = world.service.batches.values();
  assert.deepEqual([batch?.rows, others], [undefined, []], 'created, but not uploaded');
  assert.equal(instance.gauge('shards_paused', { reason: 'kafka' }), 1);
  assert.match(
    instance.health.conditions.get('reviews/kafka') ?? '',
    /have not responded to group reviewers for \d+ s/,
  );
});

test('a wall clock that jumps forward does not make followed batches overdue, even with onTimeout error', async () => {
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 1 },
      review: { maxReviewTimeMs: 10 * MINUTE, onTimeout: 'error' },
    },
    service: { review: () => ({ afterMs: 5 * MINUTE }) },
  });
  world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.equal(world.liveJobs().length, 3);
  world.clock.correct(24 * HOUR);
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    world.decisions().map(({ status }) => status),
    ['success', 'success', 'success'],
  );
});
