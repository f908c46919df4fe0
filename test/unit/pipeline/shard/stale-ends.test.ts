/** Ends of the log that are too low, as a new leader may return them. Tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PartitionRange } from '../../../../src/core/ports/kafka.ts';
import { changed } from '../../../support/engine/changed.ts';
import { TOPICS, World, type WorldSettings } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

/** Returns a world in which the next `stale` requests for ranges of the source return an end two records too low. */
function stale(settings: WorldSettings): { world: World; answers: { stale: number } } {
  const answers = { stale: 0 };
  const behind = ([partition, range]: readonly [number, PartitionRange]) =>
    [partition, { ...range, end: range.end - 2 }] as const;
  const world = new World({
    partitions: 1,
    ...settings,
    wrap: (ports) => ({
      ...ports,
      admin: changed(ports.admin, {
        ranges: async (topic, partitions) => {
          const ranges = await ports.admin.ranges(topic, partitions);
          return topic === TOPICS.source && answers.stale-- > 0
            ? new Map([...ranges].map(behind))
            : ranges;
        },
      }),
    }),
  });
  return { world, answers };
}

test('a retry reads records after the known end of the log', async () => {
  const { world, answers } = stale({
    service: { review: ({ id }) => (id === 'batch-1' ? { state: 'failed' } : {}) },
  });
  world.start();
  await world.clock.advance(3_000);
  answers.stale = 2;
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([world.decisions().length, world.published('dead').length], [5, 0]);
});

test('dead letters of a refused type contain the originals of records after the known end', async () => {
  const { world, answers } = stale({
    options: { review: { onRejectedType: 'dead-letter' } },
    service: {
      fault: (operation) => (operation === 'create' ? { failure: 'rejected' } : undefined),
    },
  });
  world.start();
  await world.clock.advance(3_000);
  answers.stale = 2;
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  const letters = world.published('dead');
  assert.deepEqual([letters.length, letters.filter(({ value }) => value === null).length], [5, 0]);
});

test('a claim accepts an end of the log below the read position only if it is returned twice', async () => {
  for (const [times, refused] of [
    [1, false],
    [2, true],
  ] as const) {
    const { world, answers } = stale({});
    const first = world.start();
    for (let n = 0; n < 10; n++) world.event(0);
    await world.untilSettled(MINUTE);
    await world.through(first.stop());
    answers.stale = times;
    const second = world.start();
    await world.clock.advance(MINUTE);
    assert.equal(second.refused !== undefined, refused);
    if (refused)
      assert.match(
        second.refused?.message ?? '',
        /ends at offset 8 in partition 0, but this pipeline has read up to 10/,
      );
  }
});
