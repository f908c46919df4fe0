/** Sealing and creation: conditions of an upload and effects of failed calls. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { EncodedBody } from '../../../../src/core/bytes/row-sink.ts';
import { changed } from '../../../support/engine/changed.ts';
import { TOPICS, World, type WrapPorts } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

test('an upload waits while the group coordinator does not respond, and continues afterwards', async () => {
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

test('the buffer of a body whose upload failed once is not reused', async () => {
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
    // After a failure only the buffer of the rows is idle; otherwise the body's buffer is idle, too.
    const [one, other] = [pool.take(1), pool.take(1)];
    assert.equal(
      [one, other].some((next) => next.buffer === buffer),
      !fails,
    );
  }
});

test('Retry-After is the minimum wait before the next attempt', async () => {
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

/** Returns a wrapper whose uploads take `ms` and record whether they completed. */
const slowUploads =
  (ms: number, outcomes: string[]): WrapPorts =>
  (ports, { clock }) => ({
    ...ports,
    kind: changed(ports.kind, {
      upload: async (job, body, signal) => {
        await clock.sleep(ms, signal).catch((error: unknown) => {
          outcomes.push(`${job.remoteId} aborted`);
          throw error;
        });
        outcomes.push(`${job.remoteId} complete`);
        return ports.kind.upload(job, body, signal);
      },
    }),
  });

test('a lost shard lets a running upload complete within the drain time', async () => {
  for (const [uploadMs, expected] of [
    [8_000, ['batch-1 complete']],
    [12_000, ['batch-1 aborted', 'batch-2 complete']],
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

test('a stopping instance aborts uploads after a second, and starts none', async () => {
  const outcomes: string[] = [];
  const world = new World({ partitions: 1, wrap: slowUploads(10_000, outcomes) });
  const first = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(500);
  const stopMs = world.clock.now();
  await world.through(first.stop());
  assert.ok(world.clock.now() - stopMs <= 1_500);
  assert.deepEqual(outcomes, ['batch-1 aborted']);

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
    'the next owner continues the job',
  );
});
