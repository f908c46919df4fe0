/** Recovery and tracking, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from '../../../support/engine/changed.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const batches = (world: World) => [...world.service.batches.values()];

test('after a restart the grace period starts with the claim, because the previous owner may have uploaded', async () => {
  const world = new World({
    partitions: 1,
    service: { arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0) },
  });
  const first = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.runUntil(() => world.service.calls.upload === 1, MINUTE);
  await world.clock.advance(100);
  await world.through(first.stop());
  world.start();
  const claimedMs = world.clock.now();
  await world.clock.runUntil(() => batches(world).length === 2, 2 * MINUTE);
  assert.ok(world.clock.now() - claimedMs >= 60_000);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});

for (const seed of [1, 2, 3, 4]) {
  test(`a batch without an upload is replaced 20 s after the claim, even with rare polls (${seed})`, async () => {
    const world = new World({
      seed,
      partitions: 1,
      options: { review: { pollMs: 15_000 } },
      service: { arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0) },
    });
    const first = world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.clock.runUntil(() => world.service.calls.upload === 1, MINUTE);
    first.process.kill();
    const { lines } = world.start().logger;
    const isOwner = () => lines.some(({ message }) => message === 'owns the shard');
    await world.clock.runUntil(isOwner, MINUTE);
    const claimedMs = world.clock.now();
    await world.clock.runUntil(() => batches(world).length === 2, MINUTE);
    const waitedMs = world.clock.now() - claimedMs;
    assert.ok(waitedMs >= 20_000 && waitedMs < 21_000, `${waitedMs} ms`);
  });
}

for (const [call, what] of [
  ['status', 'a poll respects Retry-After'],
  ['results', 'a download respects Retry-After'],
] as const) {
  test(what, async () => {
    const asked: number[] = [];
    const world: World = new World({
      partitions: 1,
      service: {
        fault: (operation) => {
          if (operation !== call) return undefined;
          asked.push(world.clock.now());
          return asked.length === 1 ? { failure: 'unavailable', retryAfterMs: 120_000 } : undefined;
        },
      },
    });
    world.start();
    for (let n = 0; n < 5; n++) world.event(0);
    await world.untilSettled(10 * MINUTE);
    assert.ok((asked[1] as number) - (asked[0] as number) >= 120_000);
  });
}

test('after a restart hundreds of jobs are polled a few at a time', async () => {
  let open = 0;
  let most = 0;
  const world = new World({
    partitions: 1,
    budgetBytes: 10_000_000,
    options: { batch: { maxRows: 1 }, concurrency: { requests: 3, transfers: 50 } },
    service: { review: () => ({ afterMs: 'never' }) },
    wrap: (ports, { clock }) => ({
      ...ports,
      kind: changed(ports.kind, {
        status: async (...asked: Parameters<typeof ports.kind.status>) => {
          most = Math.max(most, ++open);
          await clock.sleep(400);
          return ports.kind.status(...asked).finally(() => open--);
        },
      }),
    }),
  });
  const first = world.start();
  world.produce(200);
  await world.clock.advance(10_000);
  first.process.kill();
  open = 0;
  most = 0;
  world.start();
  await world.clock.advance(50_000);
  assert.equal(most, 3);
});

test('the grace period starts when the upload is complete, however long that takes', async () => {
  const world: World = new World({
    partitions: 1,
    service: {
      arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0),
      fault: (operation) =>
        operation === 'upload' && world.clock.now() < untilMs
          ? { failure: 'unavailable' }
          : undefined,
    },
  });
  const untilMs = world.clock.now() + 50_000;
  world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.clock.advance(105_000);
  assert.equal(batches(world).length, 1);
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
});

test('the next owner does not wait for the first transaction of a dead owner to time out', async () => {
  const world = new World({
    partitions: 1,
    hooks: { commitFate: ({ client }) => (client === 'i1' ? 'silent' : 'commit') },
  });
  const first = world.start();
  await world.clock.runUntil(
    () =>
      (world.kafka.cluster.describe(TOPICS.journal) &&
        world.kafka.cluster.log(TOPICS.journal, 0).end > 0) === true,
    MINUTE,
  );
  first.process.kill();
  world.event(0);
  const heir = world.start();
  await world.clock.runUntil(() => heir.group.lastHeardMs() > 0, MINUTE);
  await world.untilSettled(15_000);
  world.assertExactlyOnce();
});
