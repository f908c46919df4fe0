/** Pauses of a content type, or of the whole pipeline: wait, and that nothing is lost by it. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const errors = (world: World) => world.decisions().filter(({ status }) => status === 'error');

test('while a type fails as a whole, no batch but the probe counts against its items', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 }, review: { attempts: 1, pauseMs: MINUTE } },
    service: { review: () => ({ afterMs: 20_000, ...(failing ? { state: 'failed' } : {}) }) },
  });
  world.start();
  // All under review before the first of them fails.
  world.produce(40, { types: ['a'] });
  await world.clock.advance(5 * MINUTE);
  failing = false;
  await world.untilSettled(60 * MINUTE);
  world.assertExactlyOnce();
  const given = errors(world).length;
  assert.ok(
    given >= 4 && given <= 4 + 5,
    `${given} of 40: those before the type was known to fail, and one probe a minute`,
  );
});

test('a type that the service refuses pauses, says so, and loses nothing; other types go on', async () => {
  let refuse = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation, _id, type) =>
        operation === 'create' && type === 'bad' && refuse ? { failure: 'rejected' } : undefined,
    },
  });
  const instance = world.start();
  world.produce(40, { types: ['bad', 'good'] });
  await world.clock.advance(MINUTE);
  assert.equal(world.decisions().length, 20);
  assert.ok(world.decisions().every(({ type }) => type === 'good'));
  assert.equal(instance.gauge('shards_paused', { reason: 'type_blocked' }), 1);
  assert.ok(
    instance.logger.lines.some(
      ({ level, message }) => level === 'error' && message.includes('refuses this content type'),
    ),
  );
  assert.ok(
    world.service.calls.create < 4 + 4 * 8,
    `${world.service.calls.create} creates in a minute: once in a pause for each batch`,
  );
  refuse = false;
  // One batch is tried per pause until the service takes it; then the others need not wait.
  await world.untilSettled(15_000);
  world.assertExactlyOnce();
  assert.equal(errors(world).length, 0);
});

test('a refused key (401) pauses everything, and drops nothing', async () => {
  let refuse = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation) =>
        refuse && (operation === 'create' || operation === 'status')
          ? { failure: 'unauthorized' }
          : undefined,
    },
  });
  const instance = world.start();
  world.produce(40);
  await world.clock.advance(10 * MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'unauthorized' }), 2, 'both types');
  assert.deepEqual([world.published('decisions').length, world.published('dead').length], [0, 0]);
  assert.equal(world.committed(0).offset, 0, 'no offset moves');
  // One batch of each type asks once in a pause of five seconds at the least.
  assert.ok(world.service.calls.create <= (2 * 600) / 2.5);
  refuse = false;
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  await world.clock.advance(2_000);
  assert.deepEqual(instance.health.complaints, []);
});

test('a key that is refused while batches are reviewed pauses the polls, and the reviews are not given up', async () => {
  let refuse = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation) =>
        refuse && operation === 'status' ? { failure: 'unauthorized' } : undefined,
    },
  });
  const instance = world.start();
  world.produce(10);
  await world.clock.advance(30 * MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'unauthorized' }), 1);
  assert.equal(world.liveJobs().length, 2);
  refuse = false;
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.batches.size, 2);
});

test('five failures in a row pause the type, and the records wait', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 1 },
      review: { pauseMs: 5 * MINUTE, attempts: 100 },
      concurrency: { transfers: 1 },
    },
    service: { review: ({ type }) => (type === 'bad' && failing ? { state: 'failed' } : {}) },
  });
  const instance = world.start();
  world.event(0, 'bad');
  await world.clock.advance(MINUTE);
  const created = () =>
    [...world.service.batches.values()].filter(({ type }) => type === 'bad').length;
  assert.equal(created(), 5);
  assert.equal(instance.gauge('shards_paused', { reason: 'type_blocked' }), 1);
  world.event(0, 'good');
  await world.clock.advance(MINUTE);
  assert.deepEqual(
    world.decisions().map(({ type }) => type),
    ['good'],
  );
  failing = false;
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(created(), 6);
});

test('while a type fails, one batch is created per pause, also of the halves of the batch that was tried', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 8 }, review: { attempts: 1, pauseMs: MINUTE } },
    service: { review: () => ({ state: 'failed' }) },
  });
  world.start();
  world.produce(48, { types: ['a'] });
  await world.clock.advance(30 * MINUTE);
  const created = [...world.service.batches.values()].map(({ createdMs }) => createdMs);
  const pauses = created.slice(1).map((ms, n) => ms - (created[n] as number));
  // The first six were under way before the type was known to fail, and the halves of the first four of them.
  assert.ok(
    pauses.slice(14).length > 10 && pauses.slice(14).every((ms) => ms >= MINUTE),
    pauses.join(' '),
  );
});

test('a service that is away for hours costs time and nothing else', async () => {
  let down = true;
  const world = new World({
    partitions: 2,
    service: { fault: () => (down ? { failure: 'unavailable' } : undefined) },
  });
  const instance = world.start();
  world.produce(60, { poisonEvery: 9 });
  await world.clock.advance(3 * 60 * MINUTE);
  assert.ok((instance.gauge('shards_paused', { reason: 'service' }) ?? 0) > 0);
  assert.equal(instance.gauge('balance_items'), 0);
  down = false;
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
});
