/** Claim: a group whose offsets were reset with Kafka's own tools. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENGINE_LIMITS } from '../../../../src/pipeline/context/options.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { headerOf } from '../../../support/records/headers.ts';

const MINUTE = 60_000;
const CONFIRM_MS = ENGINE_LIMITS.resetConfirmMs;

/** Resets offsets as Kafka's own tool does: requires an empty group and leaves no metadata. */
async function resetGroup(world: World, partition: number, offset: number): Promise<void> {
  for (const instance of world.instances) await world.through(instance.stop());
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, partition, offset);
}

const decidedOffsets = (world: World) =>
  world
    .decisions()
    .map(({ offset }) => offset)
    .sort((a, b) => a - b);
test('a group that was reset backward is reviewed again from there with a new event id; live jobs are left alone', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    service: {
      review: ({ rows }) => (rows?.[0]?.offset === 5 && stuck ? { afterMs: 'never' } : {}),
    },
  });
  let stuck = true;
  world.start();
  for (let n = 0; n < 9; n++) {
    if (n === 7) world.put(0, 'not json');
    else world.event(0);
  }
  await world.clock.advance(10_000);
  assert.deepEqual(decidedOffsets(world), [0, 1, 2, 3, 4, 6, 8]);
  await resetGroup(world, 0, 4);
  const second = world.start();
  await world.clock.advance(20_000);
  assert.deepEqual(decidedOffsets(world), [0, 1, 2, 3, 4, 4, 6, 6, 8, 8]);
  assert.equal(world.service.submissions(0, 5), 1, 'it is in a live job');
  assert.deepEqual(
    world.liveJobs().map(({ left }) => [...left]),
    [[{ partition: 0, offset: 5 }]],
  );
  const letters = world
    .published('dead')
    .map(({ headers }) => headerOf({ headers }, 'event-id'))
    .sort();
  assert.deepEqual(letters, ['content-0-7', 'content-0-7#1']);
  assert.match(second.logger.text(), /offset was changed externally/);
  // The reset is recorded under our own metadata: the next restart does not take it for another one.
  assert.match(world.committed(0).metadata, /^v1:\d+$/);
  stuck = false;
  world.service.finish('batch-6');
  await world.through(second.stop());
  world.start();
  await world.clock.advance(20_000);
  assert.deepEqual(decidedOffsets(world), [0, 1, 2, 3, 4, 4, 5, 6, 6, 8, 8]);
});

test('a reset beyond the end of the log, or below its start, is taken as the end or the start', async () => {
  const world = new World({ partitions: 1 });
  for (let n = 0; n < 10; n++) world.event(0);
  world.start();
  await world.untilSettled(MINUTE);
  await resetGroup(world, 0, 1_000);
  world.start();
  await world.clock.advance(10_000);
  assert.equal(world.committed(0).offset, 10);
  world.kafka.cluster.log(TOPICS.source, 0).deleteBefore(8);
  await resetGroup(world, 0, 2);
  world.start();
  await world.clock.advance(20_000);
  assert.deepEqual(decidedOffsets(world), [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9]);
});

test('an offset that looks reset is read again only after a wait, in which the coordinator may catch up', async () => {
  let isStale = false;
  let firstMs = Number.NEGATIVE_INFINITY;
  const world: World = new World({
    partitions: 1,
    hooks: {
      staleCommitted: () => {
        const nowMs = world.clock.now();
        if (nowMs > firstMs + CONFIRM_MS) firstMs = nowMs;
        return isStale && nowMs < firstMs + CONFIRM_MS;
      },
    },
  });
  for (let n = 0; n < 10; n++) world.event(0);
  world.start();
  await world.untilSettled(MINUTE);
  await resetGroup(world, 0, 8);
  const second = world.start();
  await world.clock.runUntil(() => world.committed(0).metadata !== '', MINUTE);
  second.process.kill();
  isStale = true;
  const third = world.start();
  await world.clock.advance(MINUTE);
  assert.equal(third.metrics.counter('claims_total', { outcome: 'owned' }), 1);
  assert.doesNotMatch(third.logger.text(), /changed externally/);
});

test('late answers for one partition after the other are no reset of either', async () => {
  const late: Record<number, boolean[]> = {};
  const world = new World({
    partitions: 2,
    options: { journal: { partitions: 1 } },
    hooks: { staleCommitted: (_group, _topic, partition) => late[partition]?.shift() ?? false },
  });
  world.produce(20);
  world.start();
  await world.untilSettled(MINUTE);
  for (const instance of world.instances) await world.through(instance.stop());
  for (const partition of [0, 1])
    world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, partition, 8);
  const second = world.start();
  await world.clock.runUntil(() => world.committed(1).metadata !== '', MINUTE);
  second.process.kill();
  // The operator's offsets are each partition's last commit but one.
  late[0] = [true, false, false];
  late[1] = [false, true, false];
  const third = world.start();
  await world.clock.advance(2 * MINUTE);
  assert.deepEqual([late[0], late[1]], [[], []], 'read three times');
  assert.doesNotMatch(third.logger.text(), /changed externally/);
  assert.equal(
    decidedOffsets(world).length,
    20 + 4,
    'two of each partition were reviewed again, once',
  );
});
