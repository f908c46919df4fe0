/** Failures of the service and the reactions to them, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { Transaction } from '../../../../src/core/ports/kafka.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

/** Starts a world with one batch of `rows` records of one type. */
function oneBatch(rows: number, settings: WorldSettings = {}): World {
  const { options, ...rest } = settings;
  const world = new World({
    partitions: 1,
    options: { ...options, batch: { maxRows: rows, maxAgeMs: 600_000, ...options?.batch } },
    ...rest,
  });
  world.start();
  for (let n = 0; n < rows; n++) world.event(0);
  return world;
}

const submitted = (world: World) =>
  [...world.service.batches.values()].map(({ rows }) => rows?.map(({ offset }) => offset) ?? []);
const errors = (world: World) => world.decisions().filter(({ status }) => status === 'error');
const failures = (world: World, reason: string) =>
  world.instances.reduce(
    (sum, { metrics }) => sum + metrics.counter('jobs_failed_total', { reason }),
    0,
  );

test('halving stops at the maximum number of batches per job, and the remaining records get ERROR decisions', async () => {
  const world = oneBatch(64, {
    options: { batch: { maxAgeMs: 1_000 }, maxRetryBatches: 9 },
    service: {
      review: ({ rows }) =>
        (rows?.[0]?.offset ?? 0) < 64 ? { state: 'failed', afterMs: 4_000 * ++failed } : {},
    },
  });
  let failed = 0;
  // Other batches of the type succeed in between, so the service does not count as failing.
  for (let n = 0; n < 200; n++) {
    await world.clock.advance(1_000);
    world.event(0);
  }
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(errors(world).length, 64);
  const spent = submitted(world).filter(([first]) => (first ?? 0) < 64).length;
  assert.equal(spent, 9 + 1, 'nine batches, and the second attempt of the whole batch');
});

test('only reviewed batches count as attempts; uploads without effect do not count', async () => {
  for (const failure of ['expired', 'blocked'] as const) {
    let faults = 0;
    let reviews = 0;
    const world = oneBatch(1, {
      options: { review: { attempts: 2 } },
      service: {
        fault: (operation) => (operation === 'upload' && faults++ < 3 ? { failure } : undefined),
        review: () => (reviews++ === 0 ? { state: 'failed' } : {}),
      },
    });
    await world.untilSettled(30 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual(errors(world), [], failure);
    assert.ok(reviews > 1);
  }
});

test('a batch whose state cannot be requested is reported as overdue once, and settled when the service responds', async () => {
  let down = false;
  const world = oneBatch(3, {
    options: { review: { maxReviewTimeMs: 15 * MINUTE, onTimeout: 'error' } },
    service: { review: () => ({ afterMs: 5 * MINUTE }) },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        status: async (...asked) => {
          if (down) throw new ServiceError('unavailable', 'no answer', { operation: 'get_batch' });
          return ports.kind.status(...asked);
        },
      }),
    }),
  });
  await world.clock.advance(2 * MINUTE);
  down = true;
  await world.clock.advance(12 * MINUTE);
  assert.equal(failures(world, 'review_overdue'), 0);
  await world.clock.advance(30 * MINUTE);
  assert.deepEqual([failures(world, 'review_overdue'), world.decisions().length], [1, 0]);
  down = false;
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([errors(world), failures(world, 'review_overdue')], [[], 1]);
});

test('a service that keeps returning the id of a live job is called less and less often', async () => {
  let creates = 0;
  const world = new World({
    partitions: 1,
    service: { review: () => ({ afterMs: 'never' }) },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        create: async (type, signal) => {
          creates++;
          return { ...(await ports.kind.create(type, signal)), remoteId: 'batch-1' };
        },
      }),
    }),
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(5_000);
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(10 * MINUTE);
  assert.ok(creates > 10 && creates < 100, `${creates} creates in ten minutes`);
  assert.equal(world.liveJobs().length, 1);
});

test('one remote id returned by two concurrent creates becomes one job', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    wrap: (ports, { clock }) => ({
      ...ports,
      kind: changed(ports.kind, {
        create: async (type, signal) => {
          const created = await ports.kind.create(type, signal);
          return created.remoteId === 'batch-2' ? { ...created, remoteId: 'batch-1' } : created;
        },
      }),
      producers: {
        open: (shard) => {
          const producer = ports.producers.open(shard);
          // Dead letters commit slowly, so both creates complete before the first job is written.
          const commit = async (transaction: Transaction) => {
            if (transaction.outputs?.[0]?.topic === 'dead') await clock.sleep(5_000);
            return producer.commit(transaction);
          };
          return changed(producer, { commit });
        },
      },
    }),
  });
  world.put(0, 'not json');
  for (let n = 0; n < 2; n++) world.event(0);
  const { logger } = world.start();
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(submitted(world), [[1], [], [2]]);
  assert.equal(
    logger.lines.filter(({ message }) => message.includes('the id of a live job')).length,
    1,
  );
  assert.deepEqual(
    world.decisions().map(({ attempt }) => attempt),
    [1, 1],
  );
});

test('the maximum number of batches per job includes batches before a restart', async () => {
  const world = oneBatch(8, {
    options: {
      batch: { maxAgeMs: 1_000 },
      review: { attempts: 1, pauseMs: 1_000 },
      maxRetryBatches: 6,
    },
    service: {
      // The second half fails after the restart, while the halves of the first half are still under review.
      review: ({ rows = [] }) => {
        const atOnce = rows.length === 8 || (rows.length === 4 && rows[0]?.offset === 0);
        return { state: 'failed', afterMs: atOnce ? 0 : rows.length === 4 ? 200_000 : 900_000 };
      },
    },
  });
  await world.clock.runUntil(
    () => submitted(world).filter((rows) => rows.length === 2).length === 2,
    10 * MINUTE,
  );
  world.instances[0]?.process.kill();
  world.start();
  await world.untilSettled(60 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.batches.size, 5);
});

test('a finished batch without a result address is still polled, and this is logged once', async () => {
  let without = 20;
  const world = new World({
    partitions: 1,
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        status: async (...call) => {
          const status = await ports.kind.status(...call);
          if (status.state !== 'finished' || without-- <= 0) return status;
          return { state: 'pending', rawState: 'SUCCESS', withoutResults: true };
        },
      }),
    }),
  });
  world.start();
  for (let n = 0; n < 4; n++) world.event(0);
  await world.untilSettled(30 * 60_000);
  world.assertExactlyOnce();
  const lines = world.instances[0]?.logger.lines.filter(({ message }) =>
    message.includes('without the address'),
  );
  assert.deepEqual([lines?.length, lines?.[0]?.level], [1, 'warn']);
});
