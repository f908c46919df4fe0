/** DESIGN 4: what goes wrong at the service, and what happens, over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transaction } from '../../../src/core/ports/kafka.ts';
import { changed } from '../../support/engine/changed.ts';
import { TOPICS, World, type WorldSettings } from '../../support/engine/world.ts';

const MINUTE = 60_000;

/** One batch of `rows` records of one type. */
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
  world.instances.reduce((sum, { metrics }) => sum + metrics.counter('jobs_failed_total', { reason }), 0);

test('a failing batch is tried again, then halved until the poison item stands alone, and only it gets an ERROR decision', async () => {
  for (const state of ['failed', 'cancelled'] as const) {
    const world = oneBatch(8, {
      service: { review: ({ rows }) => (rows?.some(({ offset }) => offset === 5) ? { state } : {}) },
    });
    await world.untilSettled(10 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual(
      submitted(world).toSorted((a, b) => b.length - a.length || (a[0] ?? 0) - (b[0] ?? 0)),
      [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7], [4, 5], [6, 7], [4], [5]],
    );
    assert.deepEqual(
      errors(world).map(({ offset, error }) => [offset, error?.code]),
      [[5, state === 'failed' ? 'batch_failed' : 'batch_cancelled']],
    );
  }
});

test('a batch that fails once and then succeeds is never halved', async () => {
  const world = oneBatch(8, { service: { review: ({ id }) => (id === 'batch-1' ? { state: 'failed' } : {}) } });
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([submitted(world).length, errors(world)], [2, []]);
});

test('halving stops at the most batches that one job may cost; what is left then gets ERROR decisions', async () => {
  const world = oneBatch(64, {
    options: { batch: { maxAgeMs: 1_000 }, retry: { maxBatchesPerJob: 9 } },
    service: { review: ({ rows }) => ((rows?.[0]?.offset ?? 0) < 64 ? { state: 'failed', afterMs: 4_000 * ++failed } : {}) },
  });
  let failed = 0;
  // Between any two of them others of the type succeed: it is not the service that fails.
  for (let n = 0; n < 200; n++) {
    await world.clock.advance(1_000);
    world.event(0);
  }
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(errors(world).length, 64);
  const spent = submitted(world).filter(([first]) => (first ?? 0) < 64).length;
  assert.equal(spent, 9 + 1, 'the second attempt of the whole is not a half');
});

test('a type that fails for ever still ends: one probe per pause counts, and in the end each item has its ERROR decision', async () => {
  const world = oneBatch(8, { options: { review: { typePauseMs: 1_000 } }, service: { review: () => ({ state: 'failed' }) } });
  await world.untilSettled(20 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(errors(world).length, 8);
});

test('while a type fails as a whole, its batches are not halved, and no item is given up for it', async () => {
  let failing = true;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2 }, review: { typePauseMs: MINUTE } },
    service: { review: () => ({ afterMs: 1_000, ...(failing ? { state: 'failed' } : {}) }) },
  });
  world.start();
  world.produce(40, { types: ['a'] });
  await world.clock.advance(10 * MINUTE);
  failing = false;
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
  // Only the batches that failed before the type was known to fail, and one probe a pause, count against their items.
  assert.ok(errors(world).length <= 10, `${errors(world).length} of 40`);
});

test('the bound on halving holds over a restart', async () => {
  const world = oneBatch(64, {
    options: { retry: { maxBatchesPerJob: 9 }, review: { typePauseMs: 1_000 } },
    service: { review: () => ({ state: 'failed' }) },
  });
  for (let restart = 0; restart < 10; restart++) {
    await world.clock.advance(4_000);
    await world.through((world.instances.at(-1) ?? assert.fail()).stop());
    world.start();
  }
  await world.untilSettled(30 * MINUTE);
  world.assertExactlyOnce();
  assert.ok(submitted(world).length <= 2 * 9 + 1, `${submitted(world).length} batches for one job`);
});

test('an upload address that expired costs the batch, not its items', async () => {
  const world = oneBatch(5, {
    service: { fault: (operation, id) => (operation === 'upload' && id === 'batch-1' ? { failure: 'expired' } : undefined) },
  });
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([submitted(world), errors(world), failures(world, 'upload_expired')], [[[], [0, 1, 2, 3, 4]], [], 1]);
});

test('an upload address that expires again and again never gives items up', async () => {
  let expired = 0;
  const world = oneBatch(5, {
    service: { fault: (operation) => (operation === 'upload' && expired++ < 12 ? { failure: 'expired' } : undefined) },
  });
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(errors(world), []);
});

test('an upload that is too large is split in two at once, and an item too large alone gets an ERROR decision', async () => {
  const sizes = new Map<string, number>();
  const world = oneBatch(4, {
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        upload: (job, body, signal) => {
          sizes.set(job.remoteId, body.rows);
          return ports.kind.upload(job, body, signal);
        },
      }),
    }),
    service: {
      fault: (operation, id) =>
        operation === 'upload' && ((sizes.get(id ?? '') ?? 0) > 1 || id === 'batch-5') ? { failure: 'too_large' } : undefined,
    },
  });
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([...sizes.values()], [4, 2, 2, 1, 1, 1, 1]);
  assert.deepEqual(
    errors(world).map(({ error }) => error?.code),
    ['upload_too_large'],
  );
});

test('an upload that the storage refuses is tried again, then halved to find what it refuses', async () => {
  const world = oneBatch(4, {
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        upload: async (job, body, signal) => {
          if (body.body.includes('"offset":2,')) refused.add(job.remoteId);
          return ports.kind.upload(job, body, signal);
        },
      }),
    }),
    service: {
      fault: (operation, id) => (operation === 'upload' && refused.has(id ?? '') ? { failure: 'rejected' } : undefined),
    },
  });
  const refused = new Set<string>();
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    errors(world).map(({ offset, error }) => [offset, error?.code]),
    [[2, 'upload_rejected']],
  );
});

test('a type that the service refuses pauses, says so, and loses nothing; other types go on', async () => {
  let refuse = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation, _id, type) => (operation === 'create' && type === 'bad' && refuse ? { failure: 'rejected' } : undefined),
    },
  });
  const instance = world.start();
  world.produce(40, { types: ['bad', 'good'] });
  await world.clock.advance(MINUTE);
  assert.equal(world.decisions().length, 20);
  assert.ok(world.decisions().every(({ type }) => type === 'good'));
  assert.equal(instance.gauge('shards_paused', { reason: 'type_rejected' }), 1);
  assert.ok(
    instance.logger.lines.some(({ level, message }) => level === 'error' && message.includes('refuses this content type')),
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

test('a refused key (401) pauses everything, says so in readiness, and drops nothing', async () => {
  let refuse = true;
  const world = new World({
    partitions: 1,
    service: {
      fault: (operation) =>
        refuse && (operation === 'create' || operation === 'status') ? { failure: 'unauthorized' } : undefined,
    },
  });
  const instance = world.start();
  world.produce(40);
  await world.clock.advance(10 * MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'unauthorized' }), 1);
  assert.match(instance.health.complaints.join(), /reviews\/service: the service refuses the API key \(401\/403\)/);
  assert.deepEqual([world.published('decisions').length, world.published('dead').length], [0, 0]);
  assert.equal(world.committed(0).offset, 0, 'no offset moves');
  // Each of the four permits asks once in a pause of five seconds at the least.
  assert.ok(world.service.calls.create <= (4 * 600) / 2.5);
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
    service: { fault: (operation) => (refuse && operation === 'status' ? { failure: 'unauthorized' } : undefined) },
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
      review: { typePauseMs: 5 * MINUTE },
      retry: { attempts: 100 },
      concurrency: { uploads: 1 },
    },
    service: { review: ({ type }) => (type === 'bad' && failing ? { state: 'failed' } : {}) },
  });
  const instance = world.start();
  world.event(0, 'bad');
  await world.clock.advance(MINUTE);
  const created = () => [...world.service.batches.values()].filter(({ type }) => type === 'bad').length;
  assert.equal(created(), 5);
  assert.equal(instance.gauge('shards_paused', { reason: 'type_failing' }), 1);
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

test('a remote id that a live job already has is a failed create: no job takes it, and another is asked for', async () => {
  let repeats = 3;
  const world = new World({
    partitions: 1,
    service: { review: ({ id }) => (id === 'batch-1' ? { afterMs: 2 * MINUTE } : {}) },
    wrap: (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        create: async (type, signal) => {
          const created = await ports.kind.create(type, signal);
          return created.remoteId !== 'batch-1' && repeats-- > 0 ? { ...created, remoteId: 'batch-1' } : created;
        },
      }),
    }),
  });
  const instance = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(5_000);
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(30_000);
  assert.deepEqual(
    world.liveJobs().map(({ record }) => record.remoteId),
    ['batch-1'],
  );
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 5), 1);
  assert.equal(instance.logger.lines.filter(({ message }) => message.includes('an id that a live job already has')).length, 3);
});

test('the same remote id given to two creates at once becomes one job, not two', async () => {
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
          // Dead letters take a while: both creates are through before the first job's turn in the queue.
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
  world.start();
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(submitted(world), [[1], [], [2]]);
});

test('a review that takes too long is alerted once and waited for, or ended by ERROR decisions when configured', async () => {
  const slow = { service: { review: () => ({ afterMs: 3 * 60 * MINUTE }) } };
  const waiting = oneBatch(3, { ...slow, options: { review: { maxReviewMs: 60 * MINUTE } } });
  await waiting.clock.advance(2 * 60 * MINUTE);
  assert.deepEqual([failures(waiting, 'review_overdue'), waiting.decisions().length], [1, 0]);
  await waiting.untilSettled(2 * 60 * MINUTE);
  waiting.assertExactlyOnce();
  assert.equal(errors(waiting).length, 0);

  const ending = oneBatch(3, { ...slow, options: { review: { maxReviewMs: 60 * MINUTE, onTimeout: 'error' } } });
  await ending.clock.advance(60 * MINUTE - 1_000);
  assert.equal(ending.decisions().length, 0);
  await ending.untilSettled(MINUTE);
  ending.assertExactlyOnce();
  assert.deepEqual(
    errors(ending).map(({ error }) => error?.code),
    ['review_timeout', 'review_timeout', 'review_timeout'],
  );
  assert.equal(ending.service.batches.size, 1);
});

test('a service that is away for hours costs time and nothing else', async () => {
  let down = true;
  const world = new World({ partitions: 2, service: { fault: () => (down ? { failure: 'unavailable' } : undefined) } });
  const instance = world.start();
  world.produce(60, { poisonEvery: 9 });
  await world.clock.advance(3 * 60 * MINUTE);
  assert.ok((instance.gauge('shards_paused', { reason: 'service_unavailable' }) ?? 0) > 0);
  assert.equal(instance.gauge('balance_items'), 0);
  down = false;
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
});

test('content and presigned addresses never reach the log, whatever fails (I6)', async () => {
  let n = 0;
  const world = oneBatch(8, {
    service: {
      fault: (operation) => (n++ % 3 === 0 ? { failure: operation === 'upload' ? 'expired' : 'unavailable' } : undefined),
      review: ({ rows }) => (rows?.some(({ offset }) => offset === 2) ? { state: 'failed' } : {}),
    },
  });
  world.put(0, 'not json: event of a');
  await world.untilSettled(30 * MINUTE);
  const text = world.instances.map(({ logger }) => logger.text()).join('\n');
  assert.ok(text.length > 1_000);
  assert.doesNotMatch(text, /event of a|signature|memory:\/\//);
  assert.ok(
    world.kafka.cluster
      .log(TOPICS.journal, 0)
      .durable()
      .every(({ value }) => !/event of a|signature/.test(String(value))),
  );
});
