/**
 * The stories of the model's counterexamples about progress, played against the engine: what was claimed above the watermark
 * stays claimed, whatever became of its owner. Steps in comments are those that `npm run model -- --trace <name>` prints.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fetchedThrough } from '../../../support/engine/changed.ts';
import { World } from '../../../support/engine/world.ts';
import { headerOf } from '../../../support/records/headers.ts';
import {
  claims,
  jobsLeft,
  MINUTE,
  NO_AGE,
  SECOND,
  strike,
  submissions,
  untilUnknown,
} from './story.ts';

const letters = (world: World) =>
  world.published('dead').map((record) => headerOf(record, 'event-id'));

test('cursors-dead-letter: an undecodable record between two types ends once, though the reply to its letter was lost', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxAgeMs: 20 * SECOND } },
    hooks: { commitFate: strike('dead letter', 'reply-lost') },
  });
  world.event(0, 'a');
  world.put(0, 'not json');
  world.event(0, 'b');
  const only = world.start();
  // Steps 5 to 12: record 1 waits in its buffer, so W stays below the letter that is committed.
  await world.clock.runUntil(() => claims(only) === 2, MINUTE);
  assert.equal(world.committed(0).offset, 0);
  // Steps 13 to 16: both are read again.
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(letters(world), ['content-0-1']);
});

test('cursors-oversized-item: a dead letter inside a type ends once, though its owner was killed with the commit in the network', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxAgeMs: 20 * SECOND } },
    hooks: { commitFate: strike('dead letter', { fate: 'late', lateMs: SECOND }) },
  });
  world.event(0, 'a');
  // Of type a, and without what could be reviewed.
  world.put(0, '{"type":"a"}');
  world.event(0, 'a');
  world.event(0, 'b');
  const first = world.start();
  await untilUnknown(world, first);
  first.process.kill();
  await world.clock.advance(2 * SECOND);
  assert.deepEqual(letters(world), ['content-0-1'], 'the late commit is applied');
  world.start();
  await world.untilSettled(3 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(submissions(world), [1, 0, 1, 1]);
});

test('cursors-any-order: a job that overtakes an earlier one of its type is not made again', async () => {
  let creates = 0;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: { commitFate: strike('job', 'reply-lost') },
    // The POST for record 1 hangs.
    service: {
      fault: (operation) =>
        operation === 'create' && creates++ === 0 ? { hangMs: NO_AGE } : undefined,
    },
  });
  world.event(0, 'a');
  world.event(0, 'a');
  const only = world.start();
  // Steps 7 and 8: job {2} is committed alone, its reply is lost.
  await world.clock.runUntil(() => world.liveJobs().length === 1, MINUTE);
  assert.deepEqual([jobsLeft(world), world.committed(0).offset], [[[1]], 0]);
  world.event(0, 'b');
  // Steps 13 to 16: the next owner reads record 1 and passes record 2.
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(claims(only), 2);
  assert.deepEqual(submissions(world), [1, 1, 1]);
});

test('cursors-recomputed: an owner that commits before it has read that far again keeps what was claimed there', async () => {
  let creates = 0;
  let holding = false;
  const later: (() => void)[] = [];
  const world: World = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: {
      commitFate: strike('job', 'reply-lost'),
      batchRecords: (_member, stream) => (stream === 'source' ? 1 : 500),
    },
    service: {
      fault: (operation) =>
        operation === 'create' && creates++ === 0 ? { hangMs: NO_AGE } : undefined,
    },
    wrap: fetchedThrough((batch, give) => {
      if (batch.stream === 'source' && batch.fetchOffset > 0 && holding)
        later.push(() => give(batch));
      else give(batch);
    }),
  });
  world.event(0, 'a');
  world.event(0, 'b');
  const only = world.start();
  // Steps 7 and 8: job {2} is committed, its reply is lost, while the POST for record 1 hangs.
  await world.clock.runUntil(() => world.liveJobs().length === 1, MINUTE);
  holding = true;
  // Steps 13 to 15: the next owner has read record 1 only, and commits its job.
  await world.clock.runUntil(() => world.liveJobs().length === 2, MINUTE);
  assert.deepEqual([claims(only), world.committed(0).offset], [2, 2]);
  // Step 16.
  holding = false;
  for (const give of later) give();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(submissions(world), [1, 1]);
});

for (const [name, restart] of [
  ['no-cursor', 'claims again after a lost reply'],
  ['no-set', 'is killed, and another takes over'],
] as const) {
  test(`${name}: what a job claims above the watermark is not taken again when its owner ${restart}`, async () => {
    let creates = 0;
    const world = new World({
      partitions: 1,
      options: { batch: { maxRows: 1 } },
      hooks: {
        commitFate: strike(
          'job',
          name === 'no-cursor' ? 'reply-lost' : { fate: 'late', lateMs: SECOND },
        ),
      },
      service: {
        fault: (operation) =>
          operation === 'create' && creates++ === 0 ? { hangMs: NO_AGE } : undefined,
      },
    });
    world.event(0, 'a');
    world.event(0, 'b');
    const first = world.start();
    await untilUnknown(world, first);
    if (name === 'no-set') {
      first.process.kill();
      await world.clock.advance(2 * SECOND);
      world.start();
    }
    assert.deepEqual([jobsLeft(world), world.committed(0).offset], [[[1]], 0]);
    await world.untilSettled(5 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual(submissions(world), [1, 1]);
  });
}
