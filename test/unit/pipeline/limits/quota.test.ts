/** Quotas, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallPacer } from '../../../../src/pipeline/limits/call-pacer.ts';
import { changed } from '../../../support/engine/changed.ts';
import { World } from '../../../support/engine/world.ts';
import { sourceValue } from '../../../support/memory/service/scripted-kind.ts';

const SECOND = 1_000;
const DAY = 86_400_000;

const rowsOf = (uploads: readonly { readonly rows: number }[]): number =>
  uploads.reduce((sum, { rows }) => sum + rows, 0);

test('batches beyond the daily quota hold no memory, intake pauses, and the batches are submitted after midnight', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 4, maxAgeMs: SECOND }, quota: { rowsPerDay: 16 } },
  });
  world.clock.correct(DAY - (world.clock.now() % DAY) - 300 * SECOND);
  const instance = world.start();
  world.produce(30, { types: ['a'] });
  await world.clock.advance(30 * SECOND);
  world.produce(10, { types: ['a'] });
  await world.clock.advance(20 * SECOND);
  assert.equal(rowsOf(world.service.uploads), 16);
  assert.equal(instance.budget.pool.lentBytes, 0);
  assert.equal(instance.gauge('shards_paused', { reason: 'quota' }), 1);
  assert.equal(instance.gauge('quota_rows_left', { limit: 'rowsPerDay' }), 0);
  const [quota] = instance.pipeline.view().quota;
  assert.ok(quota?.renewsMs && quota.renewsMs <= 250 * SECOND, 'the time until midnight');
  assert.ok((instance.pipeline.view().lag ?? 0) >= 10, 'intake takes no more records');
  await world.clock.advance(300 * SECOND);
  assert.equal(rowsOf(world.service.uploads), 32);
});

test('rows under review stay below their limit, and with lanes below the share of each lane', async () => {
  const world = new World({
    partitions: 1,
    options: {
      batch: { maxRows: 10, maxAgeMs: SECOND },
      quota: { rowsUnderReview: 40 },
      lanes: { live: { share: 0.25 } },
      review: { pollMs: SECOND },
    },
    service: { review: () => ({ afterMs: 5 * SECOND }) },
  });
  world.start();
  for (let n = 0; n < 120; n++) world.put(0, sourceValue({ type: 'archive', content: 'x' }));
  for (let n = 0; n < 30; n++) world.put(0, sourceValue({ type: 'live', content: 'x' }));
  const most = new Map<string, number>();
  while (!world.settled) {
    await world.clock.advance(SECOND);
    const live = Map.groupBy(world.liveJobs(), ({ record }) => record.lane ?? 'default');
    for (const [lane, jobs] of live) {
      const rows = jobs.reduce((sum, { left }) => sum + left.size, 0);
      most.set(lane, Math.max(rows, most.get(lane) ?? 0));
    }
  }
  assert.deepEqual(Object.fromEntries(most), { default: 30, live: 10 });
  world.assertExactlyOnce();
});

test('a failing upload does not hold the turn of its shard, and its rows count at each attempt', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 5, maxAgeMs: SECOND }, quota: { rowsPerMinute: 20 } },
    service: {
      fault: (operation, id) =>
        operation === 'upload' &&
        id === 'batch-1' &&
        world.clock.monotonic() < startMs + 150 * SECOND
          ? { failure: 'unavailable' }
          : undefined,
    },
  });
  const startMs = world.clock.monotonic();
  world.start();
  world.produce(100, { types: ['a'] });
  await world.clock.advance(140 * SECOND);
  // The rows of the failing batch are free for others while it waits for its next attempt.
  assert.ok(rowsOf(world.service.uploads) >= 45, `${rowsOf(world.service.uploads)} rows`);
  await world.untilSettled(600 * SECOND);
  const { uploads } = world.service;
  for (const { atMs } of uploads) {
    const within = uploads.filter((one) => one.atMs >= atMs && one.atMs < atMs + 60 * SECOND);
    assert.ok(rowsOf(within) <= 20, `${rowsOf(within)} rows in the minute from ${atMs}`);
  }
  world.assertExactlyOnce();
});

for (const after of [false, true])
  test(`rows of a failed upload are ${after ? 'not ' : ''}free again if it ${after ? 'may have' : 'cannot have'} arrived`, async () => {
    let failures = 0;
    const world = new World({
      partitions: 1,
      options: { batch: { maxRows: 5, maxAgeMs: SECOND }, quota: { rowsPerMinute: 100 } },
      service: {
        fault: (operation) =>
          operation === 'upload' && failures++ === 0
            ? { failure: 'unavailable', after, retryAfterMs: 20 * SECOND }
            : undefined,
      },
    });
    const instance = world.start();
    world.produce(5, { types: ['a'] });
    const left = () => instance.gauge('quota_rows_left', { limit: 'rowsPerMinute' });
    await world.clock.advance(15 * SECOND);
    assert.equal(left(), after ? 95 : 100);
    await world.clock.advance(30 * SECOND);
    assert.equal(left(), after ? 90 : 95);
    await world.untilSettled(60 * SECOND);
    world.assertExactlyOnce();
  });

test('calls to the service keep to their rate, and long waits for a turn have the reason quota', async () => {
  const calls: number[] = [];
  const world = new World({
    partitions: 2,
    options: { batch: { maxRows: 2, maxAgeMs: SECOND }, review: { pollMs: SECOND } },
    wrap: (ports) => {
      const pacer = new CallPacer(2, ports.clock);
      const paced = async <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
        await pacer.turn(signal);
        calls.push(world.clock.monotonic());
        return await call();
      };
      const { kind } = ports;
      return {
        ...ports,
        calls: pacer,
        kind: changed(kind, {
          create: (type, signal) => paced(signal, () => kind.create(type, signal)),
          status: (id, signal) => paced(signal, () => kind.status(id, signal)),
        }),
      };
    },
  });
  const [first, second] = [world.start(), world.start()];
  await world.clock.advance(20 * SECOND);
  world.produce(80, { types: ['a'] });
  await world.clock.advance(20 * SECOND);
  for (const instance of [first, second]) {
    assert.equal(instance.gauge('shards_paused', { reason: 'quota' }), 1);
    assert.equal(instance.gauge('shards_paused', { reason: 'service' }) ?? 0, 0);
  }
  await world.untilSettled(600 * SECOND);
  for (const fromMs of calls) {
    const within = calls.filter((atMs) => atMs >= fromMs && atMs < fromMs + SECOND);
    assert.ok(within.length <= 2 + 2, `${within.length} calls in the second from ${fromMs}`);
  }
  assert.ok(calls.length >= 80, `${calls.length} calls`);
  world.assertExactlyOnce();
});
