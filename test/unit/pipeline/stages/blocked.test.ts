/**
 * Transfers blocked by service.transfer lose no record: they wait until the setting or the service
 * is corrected. In-memory pipeline.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const submitted = (world: World) =>
  [...world.service.batches.values()].map(({ rows }) => rows?.map(({ offset }) => offset) ?? []);
const failures = (world: World, reason: string) =>
  world.instances.reduce(
    (sum, { metrics }) => sum + metrics.counter('jobs_failed_total', { reason }),
    0,
  );

test('upload address not allowed: the records go into new batches until the address is allowed, and none is given up', async () => {
  let blocked = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation) =>
        operation === 'upload' && blocked ? { failure: 'blocked' } : undefined,
    },
  });
  const instance = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(30 * MINUTE);
  const tried = submitted(world).length;
  // Five in a row, then one per pause of ten seconds: no storm of batches.
  assert.ok(tried > 20 && tried < 30 * 6 + 10, `${tried} batches`);
  assert.deepEqual(
    new Set(submitted(world).map(({ length }) => length)),
    new Set([0]),
    'nothing was uploaded',
  );
  assert.ok(failures(world, 'upload_blocked') > 5);
  assert.equal(instance.gauge('shards_paused', { reason: 'type_blocked' }), 1);
  blocked = false;
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    world.decisions().map(({ status }) => status),
    Array(5).fill('success'),
  );
  assert.equal(world.service.submissions(0, 0), 1);
});

test('download refused by the connector: it is tried again every five minutes, and rows never count as missing', async () => {
  let blocked = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation) =>
        operation === 'results' && blocked ? { failure: 'blocked', afterRows: 2 } : undefined,
    },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(61 * MINUTE);
  assert.ok(
    world.service.calls.results >= 12 && world.service.calls.results <= 13,
    `${world.service.calls.results} downloads`,
  );
  assert.equal(world.decisions().length, 2, 'what came before it is settled');
  assert.equal(submitted(world).length, 1, 'nothing was submitted again');
  blocked = false;
  await world.untilSettled(6 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 0), 1);
});

test('an upload that may have arrived is followed, whatever its last answer was: it is not reviewed twice', async () => {
  for (const failure of [
    'expired',
    'rejected',
    'too_large',
    'not_found',
    'protocol',
    'blocked',
  ] as const) {
    let first = true;
    const world = new World({
      partitions: 1,
      service: {
        fault: (operation) => {
          if (operation !== 'upload' || !first) return undefined;
          first = false;
          return { failure, after: true };
        },
      },
    });
    world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.untilSettled(5 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual([submitted(world).length, world.service.submissions(0, 0)], [1, 1], failure);
  }
});
