/** A broker that has just become the leader may answer with an end of the log that lies behind. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PartitionRange } from '../../../../src/core/ports/kafka.ts';
import { changed } from '../../../support/engine/changed.ts';
import { TOPICS, World, type WorldSettings } from '../../../support/engine/world.ts';

const MINUTE = 60_000;

/** The next `times` questions about the source are answered with an end that lies two records behind. */
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

test('a retry reads records that lie behind the end that it heard', async () => {
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

test('a claim believes an end of the log below what was read only when it hears it twice', async () => {
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
