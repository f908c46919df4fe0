/** Shards as the audit shows them, and event ids. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audit } from '../../../../src/tools/inspect/audit.ts';
import { parseEventId } from '../../../../src/tools/inspect/outputs.ts';
import { command, inspectionOf } from '../../../support/engine/inspection.ts';
import { World } from '../../../support/engine/world.ts';

test('the audit shows the owner of each shard, its live jobs from the oldest on, and the hold', async () => {
  const world = new World({
    partitions: 3,
    options: { batch: { maxRows: 2, maxAgeMs: 600_000 }, journal: { partitions: 2 } },
    service: { review: () => ({ afterMs: 'never' }) },
  });
  world.start();
  // In partition 0, records 0 and 3 wait, and records 1 and 2 are in a job. Partition 2 belongs to the same shard.
  for (const type of ['a', 'b', 'b', 'c']) world.event(0, type);
  await world.clock.advance(30_000);
  world.event(2, 'd');
  world.event(2, 'd');
  await world.clock.advance(30_000);
  const { shards, totals, hold } = await world.through(audit(inspectionOf(world)));
  assert.deepEqual([totals.waiting, totals.live, hold], [2, 4, null]);
  assert.deepEqual(
    shards.map(({ shard, owner, jobs }) => [
      shard,
      owner === null,
      jobs.map(({ type, left, count, attempt }) => [type, left, count, attempt]),
    ]),
    [
      [
        0,
        false,
        [
          ['b', 2, 2, 1],
          ['d', 2, 2, 1],
        ],
      ],
      [1, false, []],
    ],
  );
  await command(world, 'pause');
  const paused = await world.through(audit(inspectionOf(world)));
  assert.deepEqual([paused.hold?.state, paused.hold?.by], ['paused', 'ann@host']);
});

test('an event id is parsed only for its own topic', () => {
  assert.deepEqual(parseEventId('content-2-17', 'content'), {
    partition: 2,
    offset: 17,
    replay: 0,
  });
  assert.deepEqual(parseEventId('content-2-17#3', 'content'), {
    partition: 2,
    offset: 17,
    replay: 3,
  });
  assert.deepEqual(parseEventId('content-2-3-17', 'content-2'), {
    partition: 3,
    offset: 17,
    replay: 0,
  });
  for (const other of [
    undefined,
    'content-2-3-17',
    'content-2',
    'other-2-17',
    'content-2-17#',
    'content-2-x',
  ])
    assert.equal(parseEventId(other, 'content'), undefined, String(other));
});
