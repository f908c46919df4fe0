/**
 * Transfers blocked by service.transfer lose no record: they wait until the setting or the service
 * is corrected. Tested with the whole engine in memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const submitted = (world: World) =>
  [...world.service.batches.values()].map(({ rows }) => rows?.map(({ offset }) => offset) ?? []);
const failures = (world: World, reason: string) =>
  world.instances.reduce(
    (sum, { metrics }) => sum + metrics.counter('jobs_failed_total', { reason }),
    0,
  );

test('upload address not allowed: the records are submitted in new batches until the address is allowed', async () => {
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
  // Five batches in a row, then one per pause of ten seconds.
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

test('download refused by the connector: it is retried every five minutes, and no rows count as missing', async () => {
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
  assert.equal(world.decisions().length, 2, 'the rows before the failure are settled');
  assert.equal(submitted(world).length, 1, 'nothing was submitted again');
  blocked = false;
  await world.untilSettled(6 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 0), 1);
});

test('a batch whose upload may have arrived is followed after any final response to the upload, and not reviewed twice', async () => {
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

test('a possible arrival is remembered across attempts of one upload, and the grace period ends the wait', async () => {
  const tries: string[] = [];
  const world = new World({
    partitions: 1,
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        upload: async (job, body, signal) => {
          tries.push(job.remoteId);
          if (tries.length === 1)
            throw new ServiceError('unavailable', 'reset', {
              operation: 'upload',
              mayHaveArrived: true,
            });
          if (tries.length === 2)
            throw new ServiceError('expired', 'expired', { operation: 'upload' });
          await ports.kind.upload(job, body, signal);
        },
      }),
    }),
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(50_000);
  assert.deepEqual(tries, ['batch-1', 'batch-1'], 'no new batch within the grace period');
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([failures(world, 'upload_lost'), failures(world, 'upload_expired')], [1, 0]);
});
