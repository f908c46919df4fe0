import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../../support/engine/world.ts';

test('every record becomes one decision, and what cannot be decoded one dead letter', async () => {
  const world = new World({ partitions: 3 });
  world.start();
  world.produce(100, { poisonEvery: 10 });
  await world.untilSettled(60_000);
  world.assertExactlyOnce();
  assert.equal(world.verdict().settled, 100);
  const [one] = world.instances;
  await world.clock.advance(2000);
  assert.equal(one?.metrics.gauge('balance_items', { pipeline: 'reviews' }), 0);
  assert.equal(one?.metrics.gauge('items_in_flight', { pipeline: 'reviews' }), 0);
});

test('a restart finds the live jobs and settles them once', async () => {
  const world = new World({ partitions: 2, service: { review: () => ({ afterMs: 60_000 }) } });
  const first = world.start();
  world.produce(200);
  await world.clock.advance(20_000);
  assert.ok(world.verdict().liveJobs.length > 10);
  first.process.kill();
  world.start();
  await world.untilSettled(300_000);
  world.assertExactlyOnce();
  for (let n = 0; n < 200; n++)
    assert.equal(world.service.submissions(n % 2, Math.floor(n / 2)), 1);
});
