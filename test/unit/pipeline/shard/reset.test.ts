/** Claim: a group whose offsets were reset with Kafka's own tools. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPICS, World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

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
test('a group that was reset forward skips what nobody claimed below it, and counts it', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 2, maxAgeMs: 600_000 } } });
  world.start();
  // 0 and 3 wait in buffers; 1 and 2 are decided.
  for (const type of ['a', 'b', 'b', 'c']) world.event(0, type);
  await world.clock.advance(5_000);
  await resetGroup(world, 0, 10);
  for (let n = 0; n < 8; n++) world.event(0, 'd');
  const second = world.start();
  await world.clock.advance(10_000);
  assert.equal(second.metrics.counter('reset_skipped_records_total'), 8);
  assert.match(second.logger.text(), /offset was changed externally/);
  assert.deepEqual(decidedOffsets(world), [1, 2, 10, 11]);
  assert.equal(world.committed(0).offset, 12);
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
