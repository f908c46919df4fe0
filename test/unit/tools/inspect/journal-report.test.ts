/** Journal report: positions, lag and pending resets, tested with the engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { journalReport } from '../../../../src/tools/inspect/journal-report.ts';
import { parseEventId } from '../../../../src/tools/inspect/outputs.ts';
import { inspectionOf } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';

test('lag counts records outside of jobs, the watermark is the committed offset, and a pending reset is shown', async () => {
  const world = new World({
    partitions: 3,
    options: { batch: { maxRows: 2, maxAgeMs: 600_000 }, journal: { partitions: 2 } },
    service: { review: () => ({ afterMs: 'never' }) },
  });
  world.start();
  // In partition 0 records 0 and 3 wait, and 1 and 2 are in a job. Partition 2 is in the same shard.
  for (const type of ['a', 'b', 'b', 'c']) world.event(0, type);
  await world.clock.advance(30_000);
  const report = await world.through(journalReport(inspectionOf(world)));
  const positions = report.shards.flatMap(({ shard, partitions }) =>
    partitions.map(({ partition, watermark, committed, lag, end }) => ({
      shard,
      partition,
      watermark,
      committed,
      lag,
      end,
    })),
  );
  assert.deepEqual(positions, [
    { shard: 0, partition: 0, watermark: 0, committed: 0, lag: 2, end: 4 },
    { shard: 0, partition: 2, watermark: 0, committed: 0, lag: 0, end: 0 },
    { shard: 1, partition: 1, watermark: 0, committed: 0, lag: 0, end: 0 },
  ]);
  assert.deepEqual(
    report.jobs.map(({ shard, left, count, attempt, partitions }) => ({
      shard,
      left,
      count,
      attempt,
      partitions,
    })),
    [{ shard: 0, left: 2, count: 2, attempt: 1, partitions: [0] }],
  );
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, 3);
  const reset = await world.through(journalReport(inspectionOf(world)));
  assert.deepEqual(
    reset.shards[0]?.partitions.map(({ resetPending }) => resetPending),
    [true, false],
  );
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
