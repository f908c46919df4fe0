/** Claim of a group whose offsets were reset with Kafka's tools, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPICS, World } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

const decidedOffsets = (world: World) =>
  world
    .decisions()
    .map(({ offset }) => offset)
    .sort((a, b) => a - b);
test('stale committed offsets of one partition after the other do not count as resets', async () => {
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
  // The operator's offset is the second to last commit of each partition.
  late[0] = [true, false, false];
  late[1] = [false, true, false];
  const third = world.start();
  await world.clock.advance(2 * MINUTE);
  assert.deepEqual([late[0], late[1]], [[], []], 'the offsets were read three times');
  assert.doesNotMatch(third.logger.text(), /changed externally/);
  assert.equal(
    decidedOffsets(world).length,
    20 + 4,
    'two records of each partition were reviewed again, once',
  );
});
