/**
 * The stories of the model's counterexamples about jobs, their uploads, their decisions and their next attempts, played against
 * the engine. Steps in comments are those that `npm run model -- --trace <name>` prints.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from '../../../support/engine/changed.ts';
import { UploadWatch } from '../../../support/engine/upload-watch.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import {
  claims,
  Gate,
  holdCommits,
  jobsLeft,
  MINUTE,
  SECOND,
  stepOf,
  strike,
  submissions,
} from './story.ts';

test('upload-first: nothing is uploaded while its job’s commit is under way, nor when that never comes', async () => {
  const gate = new Gate();
  const uploads = new UploadWatch(TOPICS.journal);
  const world: World = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    service: { onUpload: (remoteId) => uploads.uploaded(world.kafka.cluster, remoteId) },
    wrap: holdCommits(gate, (step, _number, client) => client === 'A' && step === 'job'),
  });
  world.event(0, 'a');
  const a = world.start('A');
  // Step 6: the batch is created, its transaction begins.
  await world.clock.runUntil(() => gate.reached === 1, MINUTE);
  await world.clock.advance(10 * SECOND);
  assert.deepEqual([world.service.calls.create, world.service.calls.upload], [1, 0]);
  a.process.kill();
  gate.open();
  world.start('B');
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(
    [uploads.early, world.service.batch('batch-1').state],
    [[], 'waiting_for_upload'],
  );
});

test('no-chunk-bookkeeping: each chunk of decisions leaves the journal with the rest of its job, and a restart publishes the rest', async () => {
  const gate = new Gate();
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2 }, chunk: { maxRows: 1 } },
    // Rows {2}, then {1}.
    service: { review: () => ({ results: (rows) => rows.toReversed() }) },
    wrap: holdCommits(
      gate,
      (step, number, client) => client === 'A' && step === 'decisions' && number === 2,
    ),
  });
  world.event(0, 'a');
  world.event(0, 'a');
  const a = world.start('A');
  // Steps 12 and 13.
  await world.clock.runUntil(() => gate.reached === 1, MINUTE);
  assert.deepEqual(
    world.decisions().map(({ offset }) => offset),
    [1],
  );
  assert.deepEqual(jobsLeft(world), [[0]]);
  world.assertConserved();
  a.process.kill();
  world.start('B');
  await world.untilSettled(2 * MINUTE);
  world.assertExactlyOnce();
});

test('no-row-dedup: a row that comes again after its decision is dropped', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2 }, chunk: { maxRows: 1 } },
    // Rows {2}, then {1,2}.
    service: { review: () => ({ results: (rows) => [...rows.slice(1), ...rows] }) },
  });
  world.event(0, 'a');
  world.event(0, 'a');
  const a = world.start('A');
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
  assert.equal(a.metrics.counter('result_anomalies_total', { kind: 'duplicate' }), 1);
  assert.equal(claims(a), 1);
});

test('rewind-rebuffers: what a rewind passes, and intake has in hand already, is not taken twice', async () => {
  const gate = new Gate();
  let read = 0;
  const hold = holdCommits(gate, (step, number) => step === 'job' && number === 2);
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2, maxAgeMs: 55 * SECOND } },
    service: { arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0) },
    wrap: (ports, of) => ({
      ...hold(ports, of),
      reader: changed(ports.reader, {
        read: async (...asked: Parameters<typeof ports.reader.read>) => {
          await ports.reader.read(...asked);
          read++;
        },
      }),
    }),
  });
  for (const type of ['a', 'b', 'a']) world.event(0, type);
  const a = world.start('A');
  // Steps 7 to 12: job {1,3} is abandoned; the transaction of job {2} is under way.
  await world.clock.runUntil(() => gate.reached === 1, 2 * MINUTE);
  assert.deepEqual(jobsLeft(world), [[0, 2]]);
  // Step 13: the rewind passes record 2.
  await world.clock.runUntil(() => read === 1, 2 * MINUTE);
  gate.open();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual([claims(a), submissions(world)], [1, [1, 1, 1]]);
});

test('move-in-two: the transaction that names a record’s next job takes it from the one before', async () => {
  const moves: string[][] = [];
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    service: {
      arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0),
      review: () => ({ afterMs: MINUTE }),
    },
    hooks: {
      commitFate: ({ transaction }) => {
        if (stepOf(transaction) === 'move')
          moves.push(transaction.journal.map(({ value }) => (value === null ? 'end' : 'new')));
        return 'commit';
      },
    },
  });
  world.event(0, 'a');
  const a = world.start('A');
  const [first] = await untilJob(world, 1);
  // Steps 8 to 12: abandoned, read again, moved; then nothing more is heard of A.
  const [second] = await untilJob(world, 2);
  a.process.kill();
  assert.notEqual(first, second);
  assert.deepEqual([jobsLeft(world), moves], [[[0]], [['new', 'new', 'end', 'end']]]);
  world.assertConserved();
  world.start('B');
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
});

/** Runs until the journal has a live job of this batch; the ids of the live jobs. */
async function untilJob(world: World, batch: number): Promise<string[]> {
  await world.clock.runUntil(
    () => world.liveJobs().some(({ record }) => record.remoteId === `batch-${batch}`),
    5 * MINUTE,
  );
  return world.liveJobs().map(({ record }) => record.id);
}

test('no-abandon: a batch whose upload never came is given up for a new one', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: { commitFate: strike('job', 'reply-lost') },
  });
  world.event(0, 'a');
  const a = world.start('A');
  // Steps 6 and 7: the job is journaled, and its owner is over before the upload.
  await world.clock.runUntil(() => claims(a) === 2, MINUTE);
  assert.deepEqual([jobsLeft(world), world.service.calls.upload], [[[0]], 0]);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(a.metrics.counter('jobs_failed_total', { reason: 'upload_lost' }), 1);
  assert.deepEqual(submissions(world), [1]);
});
