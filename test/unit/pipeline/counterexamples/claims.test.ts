/**
 * The stories of the model's counterexamples about taking over a shard, played against the engine. Steps in comments are those
 * that `npm run model -- --trace <name>` prints.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed, fetchedThrough } from '../../../support/engine/changed.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import {
  claims,
  Gate,
  holdCommits,
  jobsLeft,
  MINUTE,
  NO_AGE,
  nameOf,
  outcomes,
  SECOND,
  stepOf,
  strike,
  submissions,
  untilUnknown,
} from './story.ts';

const RESET = /offset was changed externally/;

test('no-fence: a commit that comes after the next owner’s claim is refused', async () => {
  const lateMs = 50 * SECOND;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: { commitFate: strike('job', { fate: 'late', lateMs }) },
    service: { review: () => ({ afterMs: MINUTE }) },
  });
  world.event(0, 'a');
  const a = world.start('A');
  // Steps 7 and 8: A's transaction is under way when the group gives the shard to B.
  await world.clock.runUntil(
    () => world.kafka.transactions.openTransactions().length === 1,
    MINUTE,
  );
  await untilUnknown(world, a);
  a.process.freeze();
  const sentMs = world.clock.now();
  const b = world.start('B');
  // Steps 9 to 11, 13 to 15: B owns, and has the record in a job of its own.
  await world.clock.runUntil(() => claims(b) === 1 && world.liveJobs().length === 1, lateMs);
  assert.ok(world.clock.now() < sentMs + lateMs, 'A’s commit is still in the network');
  // Step 12.
  await world.clock.advance(sentMs + lateMs + SECOND - world.clock.now());
  assert.deepEqual(jobsLeft(world), [[0]]);
  a.process.thaw();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(submissions(world), [1]);
});

test('no-barrier: a commit that came between looking at the journal and the fence is found by the replay', async () => {
  const gate = new Gate();
  const lateMs = 50 * SECOND;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: { commitFate: strike('job', { fate: 'late', lateMs }) },
    wrap: holdCommits(
      gate,
      (step, number, client) => client === 'B' && step === 'owner' && number === 1,
    ),
  });
  world.event(0, 'a');
  const a = world.start('A');
  await untilUnknown(world, a);
  a.process.kill();
  world.start('B');
  // Steps 7 and 8: B has joined, has read the journal as far as it was visible, and is about to fence.
  await world.clock.runUntil(() => gate.reached === 1, lateMs);
  assert.equal(world.liveJobs().length, 0);
  // Step 9: A's commit comes first.
  await world.clock.runUntil(() => world.liveJobs().length === 1, lateMs);
  gate.open();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(
    world.service.batches.size,
    2,
    'the job was never uploaded: one attempt more, and no job beside it',
  );
  assert.deepEqual(submissions(world), [1]);
});

test('barrier-by-content-compacted: a replay whose owner record was compacted away for a newer one ends, and soon', async () => {
  const gate = new Gate();
  let holding = true;
  let from: number | undefined;
  const hold = holdCommits(
    gate,
    (step, number, client) => client === 'A' && step === 'owner' && number === 1,
  );
  // The fetch that would bring B its owner record is slow.
  const slow = fetchedThrough((batch, give, { clock }) => {
    if (nameOf(clock) === 'B' && batch.stream === 'journal' && holding) from ??= batch.fetchOffset;
    else give(batch);
  });
  const world: World = new World({ partitions: 1, wrap: (ports, of) => hold(slow(ports), of) });
  const journal = () => world.kafka.cluster.log(TOPICS.journal, 0);
  const owners = () =>
    journal()
      .committed()
      .filter(({ key }) => String(key) === 'owner').length;
  world.event(0, 'a');
  // Step 1: A has the shard, and does not get to fence.
  const a = world.start('A');
  await world.clock.runUntil(() => gate.reached === 1, MINUTE);
  a.group.isolate();
  // Steps 2 to 5: B commits its owner record and replays.
  const b = world.start('B');
  await world.clock.runUntil(() => owners() === 1 && from !== undefined, MINUTE);
  // Step 6: A, which does not know yet, fences.
  gate.open();
  await world.clock.runUntil(() => owners() === 2, MINUTE);
  journal().compact();
  assert.equal(owners(), 1);
  holding = false;
  b.group.seek('journal', 0, from as number);
  const startedMs = world.clock.now();
  await world.clock.runUntil(() => claims(b) === 1, 5 * MINUTE);
  assert.ok(world.clock.now() - startedMs < 20 * SECOND, `${world.clock.now() - startedMs} ms`);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.equal(claims(a), 0);
});

test('stale-offset-taken-for-reset: committed offsets that come a commit late are ours, and no reset', async () => {
  let stale = false;
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: { commitFate: strike('job', 'reply-lost'), staleCommitted: () => stale },
  });
  world.event(0, 'a');
  const a = world.start('A');
  // Steps 6 to 11.
  await untilUnknown(world, a);
  stale = true;
  await world.untilSettled(5 * MINUTE);
  assert.equal(claims(a), 2);
  world.assertExactlyOnce();
  // The decision commits no offsets: the answer is as late for the next owner.
  a.process.kill();
  const b = world.start('B');
  world.event(0, 'b');
  await world.untilSettled(5 * MINUTE);
  assert.deepEqual([a, b].filter(({ logger }) => RESET.test(logger.text())).length, 0);
  world.assertExactlyOnce();
  assert.deepEqual(submissions(world), [1, 1]);
});

test('stale-offset-taken-for-reset: nor is a reset that is recorded taken twice', async () => {
  let late = 0;
  const world = new World({ partitions: 1, hooks: { staleCommitted: () => late-- > 0 } });
  world.event(0, 'a');
  const a = world.start('A');
  await world.untilSettled(MINUTE);
  await world.through(a.stop());
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, 0);
  const b = world.start('B');
  await world.clock.runUntil(() => world.committed(0).metadata !== '', MINUTE);
  b.process.kill();
  late = 1;
  const c = world.start('C');
  await world.clock.advance(2 * MINUTE);
  assert.match(b.logger.text(), RESET);
  assert.doesNotMatch(c.logger.text(), RESET);
  assert.equal(world.decisions().length, 2, 'once for the first time, once for the reset');
});

test('reset-as-written: a group reset below a record that is in a live job leaves that record to its job', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: { commitFate: strike('job', { fate: 'late', lateMs: SECOND }) },
  });
  world.event(0, 'a');
  const a = world.start('A');
  // Steps 6 to 8: A dies, and its commit is applied all the same.
  await untilUnknown(world, a);
  a.process.kill();
  await world.clock.advance(2 * SECOND);
  assert.deepEqual([jobsLeft(world), world.committed(0).offset], [[[0]], 1]);
  // Step 10.
  world.kafka.cluster.commitOffset(TOPICS.group, TOPICS.source, 0, 0);
  world.event(0, 'b');
  const b = world.start('B');
  await world.clock.runUntil(() => claims(b) === 1, 2 * MINUTE);
  assert.match(b.logger.text(), RESET);
  // Steps 16 to 18: the record is not in a second job.
  await world.clock.advance(10 * SECOND);
  assert.deepEqual(jobsLeft(world), [[0]]);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.deepEqual(submissions(world), [1, 1]);
});

// A client that forgets its position reads nothing before a seek, or goes on from the committed offset.
for (const [name, unsought] of [
  ['no-seek-at-join', 'waits'],
  ['no-seek-and-no-check', 'committed'],
] as const) {
  test(`${name}: after a rejoin intake goes on where it was, and a retry that waits gets its records`, async () => {
    const gate = new Gate();
    const world = new World({
      partitions: 1,
      kafka: { unsought },
      options: { batch: { maxRows: 2, maxAgeMs: NO_AGE } },
      service: { arrivalMs: (id) => (id === 'batch-1' ? 'never' : 0) },
      wrap: (ports) => ({
        ...ports,
        reader: changed(ports.reader, {
          read: async (...asked: Parameters<typeof ports.reader.read>) => {
            await gate.pass();
            return ports.reader.read(...asked);
          },
        }),
      }),
    });
    for (const type of ['a', 'a', 'b']) world.event(0, type);
    const a = world.start('A');
    // Steps 5 to 9: the job is abandoned, its records are about to be read again; record 3 waits in its buffer.
    await world.clock.runUntil(() => gate.reached === 1, 5 * MINUTE);
    assert.equal(world.committed(0).offset, 2);
    // Step 10.
    world.start('B');
    await world.clock.runUntil(() => a.metrics.counter('rebalances_total') === 2, MINUTE);
    gate.open();
    world.event(0, 'b');
    await world.untilSettled(2 * MINUTE);
    world.assertExactlyOnce();
    assert.deepEqual([claims(a), submissions(world)], [1, [1, 1, 1, 1]]);
  });
}

test('blind-retry: decisions whose commit got no answer are not sent again by an owner that does not know', async () => {
  const sent: string[] = [];
  const lose = strike('decisions', 'reply-lost');
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    hooks: {
      commitFate: (attempt) => {
        sent.push(stepOf(attempt.transaction));
        return lose(attempt);
      },
    },
  });
  world.event(0, 'a');
  const a = world.start('A');
  // Steps 11 and 12.
  await untilUnknown(world, a);
  const before = sent.length;
  // Steps 13 and 14 do not come: the owner is over, and the next one reads the journal.
  await world.clock.runUntil(() => claims(a) === 2, MINUTE);
  await world.clock.advance(10 * SECOND);
  assert.deepEqual(sent.slice(before), ['owner'], 'the journal says that nothing is left to do');
  assert.equal(outcomes(a, 'unknown'), 1);
  world.event(0, 'a');
  await world.untilSettled(MINUTE);
  world.assertExactlyOnce();
});
