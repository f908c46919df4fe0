/** Sealing and creation: conditions of an upload, and what a failed call costs. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { EncodedBody } from '../../../../src/core/bytes/row-sink.ts';
import { changed } from '../../../support/engine/changed.ts';
import { TOPICS, World, type WrapPorts } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

test('an upload waits while the group has not heard from its member, and goes on once it has', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 100, maxAgeMs: 40_000 } },
  });
  const instance = world.start();
  await world.clock.advance(2_000);
  world.event(0);
  await world.clock.advance(1_000);
  instance.group.isolate();
  await world.clock.advance(MINUTE);
  assert.deepEqual([world.service.calls.create, world.service.calls.upload], [1, 0]);
  assert.equal(instance.gauge('shards_paused', { reason: 'kafka' }), 1);
  assert.equal(world.liveJobs().length, 1, 'the job is in the journal, waiting for its upload');
  instance.group.heal();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(world.service.submissions(0, 0), 1);
  await world.clock.advance(1_000);
  assert.equal(instance.gauge('shards_paused', { reason: 'kafka' }), 0);
});

test('a body whose upload failed once is not written over by what comes after it: its buffer is not used again', async () => {
  for (const fails of [false, true]) {
    const bodies: EncodedBody[] = [];
    const upload: WrapPorts = (ports) => ({
      ...ports,
      kind: changed(ports.kind, {
        upload: async (job, body, signal) => {
          if (bodies.push(body) === 1 && fails)
            throw new ServiceError('unavailable', 'reset', { operation: 'upload' });
          await ports.kind.upload(job, body, signal);
        },
      }),
    });
    const world = new World({ partitions: 1, wrap: upload });
    const instance = world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.untilSettled(MINUTE);
    world.assertExactlyOnce();
    const { pool } = instance.budget;
    const { buffer } = bodies[0]?.body ?? assert.fail('nothing was uploaded');
    // Both are idle, or only what held the rows.
    const [one, other] = [pool.take(1), pool.take(1)];
    assert.equal(
      [one, other].some((next) => next.buffer === buffer),
      !fails,
    );
  }
});

test('Retry-After is a floor for the next try', async () => {
  const asked: number[] = [];
  const world: World = new World({
    partitions: 1,
    service: {
      fault: (operation) => {
        if (operation !== 'create') return undefined;
        asked.push(world.clock.now());
        return asked.length < 4 ? { failure: 'unavailable', retryAfterMs: 45_000 } : undefined;
      },
    },
  });
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(10 * MINUTE);
  for (let n = 1; n < 4; n++) assert.ok((asked[n] as number) - (asked[n - 1] as number) >= 45_000);
});

/** Uploads take `ms`, and say whether they were let through to their end. */
const slowUploads =
  (ms: number, outcomes: string[]): WrapPorts =>
  (ports, { clock }) => ({
    ...ports,
    kind: changed(ports.kind, {
      upload: async (job, body, signal) => {
        await clock.sleep(ms, signal).catch((error: unknown) => {
          outcomes.push(`${job.remoteId} given up`);
          throw error;
        });
        outcomes.push(`${job.remoteId} through`);
        return ports.kind.upload(job, body, signal);
      },
    }),
  });

test('a lost shard lets an upload under way end, but no longer than the drain allows', async () => {
  for (const [uploadMs, expected] of [
    [8_000, ['batch-1 through']],
    [12_000, ['batch-1 given up', 'batch-2 through']],
  ] as const) {
    const outcomes: string[] = [];
    const world = new World({
      partitions: 1,
      options: { ownershipCheckIntervalMs: 1_000 },
      wrap: slowUploads(uploadMs, outcomes),
    });
    world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.clock.advance(500);
    world.kafka.transactions.initialise(`${TOPICS.journal}-0`);
    await world.untilSettled(5 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual(outcomes, expected);
  }
});

test('an instance that stops gives up uploads after a second, and starts none', async () => {
  const outcomes: string[] = [];
  const world = new World({ partitions: 1, wrap: slowUploads(10_000, outcomes) });
  const first = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(500);
  const stopMs = world.clock.now();
  await world.through(first.stop());
  assert.ok(world.clock.now() - stopMs <= 1_500);
  assert.deepEqual(outcomes, ['batch-1 given up']);

  let jobs = 0;
  const other = new World({
    partitions: 1,
    hooks: {
      commitFate: ({ transaction }) => {
        if (transaction.journal.some(({ key }) => key.startsWith('job/')) && jobs++ === 0)
          void instance.stop();
        return 'commit';
      },
    },
  });
  const instance = other.start();
  for (let n = 0; n < 5; n++) other.event(0);
  await other.clock.advance(10_000);
  assert.deepEqual(
    [jobs, other.liveJobs().length, other.service.calls.upload],
    [1, 1, 0],
    'its job is for the next owner',
  );
});
