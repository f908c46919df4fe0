/**
 * The stories of the model's counterexamples about commands of an operator, played against the engine. Steps in comments are those
 * that `npm run model -- --trace <name>` prints.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { claims, Gate, holdCommits, jobsLeft, MINUTE, SECOND } from './story.ts';

/** Buffers seal late, unless a drain seals them. */
const LATE = { batch: { maxRows: 5, maxAgeMs: 30 * MINUTE } };

const acknowledgements = (world: World) =>
  world.kafka.cluster
    .log(TOPICS.journal, 0)
    .committed()
    .filter(({ key }) => String(key) === 'control/ack')
    .map(({ value }) => JSON.parse(String(value)) as { revision: number; drained: boolean });

test('drained-with-buffer: a shard is drained when what it buffered has its decisions', async () => {
  const service = { review: () => ({ afterMs: MINUTE }) };
  const world = new World({ partitions: 1, options: LATE, service });
  world.event(0);
  const a = world.start('A');
  // Steps 1 to 6: A owns, and has a record in its buffer.
  await world.clock.runUntil(() => a.gauge('items_buffered') === 1, MINUTE);
  assert.equal(world.liveJobs().length, 0);
  // Steps 4 and 7 to 9.
  const { outcome } = await command(world, 'drain');
  assert.equal(outcome, 'reached');
  assert.equal(world.decisions().length, 1);
  assert.deepEqual(
    acknowledgements(world).map(({ drained }) => drained),
    [false, true],
  );
  world.event(0);
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.decisions().length, 1);
  assert.deepEqual(jobsLeft(world), []);
  await command(world, 'resume');
  await world.through(a.stop());
  world.start('B');
  await world.untilSettled(60 * MINUTE);
  world.assertExactlyOnce();
});

test('command-unread-at-claim: the next owner of a drained shard takes nothing in', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 1 } } });
  const a = world.start('A');
  await world.clock.runUntil(() => claims(a) === 1, MINUTE);
  // Steps 1 to 8, and the death of the owner.
  assert.equal((await command(world, 'drain')).outcome, 'reached');
  a.process.kill();
  world.event(0);
  // Steps 9 to 13.
  const b = world.start('B');
  await world.clock.runUntil(() => claims(b) === 1, 5 * MINUTE);
  await world.clock.advance(5 * MINUTE);
  assert.deepEqual(jobsLeft(world), []);
  assert.equal(world.service.batches.size, 0);
  assert.equal(acknowledgements(world).length, 1, 'what A promised holds for B');
  await command(world, 'resume');
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

/** Puts a broken record in the place of the command of shard 0, and compacts. */
function spoil(world: World): void {
  const broken = { key: 'control', value: Buffer.from('{}') };
  world.kafka.cluster.produce(TOPICS.journal, 0, [broken]);
  world.kafka.cluster.log(TOPICS.journal, 0).compact();
}

test('spoilt-command-forgotten: the next owner keeps what was acknowledged, if the command is lost', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxRows: 1 } } });
  const a = world.start('A');
  await world.clock.runUntil(() => claims(a) === 1, MINUTE);
  // Steps 1 to 8; the owner dies instead of losing a reply.
  assert.equal((await command(world, 'drain')).outcome, 'reached');
  spoil(world);
  a.process.kill();
  world.event(0);
  // Steps 9 to 13.
  const b = world.start('B');
  await world.clock.runUntil(() => claims(b) === 1, 5 * MINUTE);
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.service.batches.size, 0);
  await command(world, 'resume');
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('spoilt-command-not-replaced: a resume that one shard cannot read is written again', async () => {
  const world = new World({ partitions: 2, options: { batch: { maxRows: 1 } } });
  const a = world.start('A');
  await world.clock.runUntil(() => claims(a) === 2, MINUTE);
  // Steps 1 to 6: no owner reads the resume, of which shard 0 keeps a broken record.
  assert.equal((await command(world, 'drain')).outcome, 'reached');
  a.process.kill();
  await command(world, 'resume', { timeoutMs: 0 });
  spoil(world);
  world.event(0);
  world.event(1);
  world.start('B');
  await world.clock.advance(5 * MINUTE);
  assert.equal(world.decisions().length, 1, 'shard 0 is drained');
  const { outcome, changed } = await command(world, 'resume');
  assert.deepEqual([outcome, changed], ['reached', true]);
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('acknowledgement-without-revision: a late acknowledgement says nothing about the next drain', async () => {
  // Of the transactions without outputs and jobs: `meta` with the first progress, then acknowledgements.
  const [gate, next] = [new Gate(), new Gate()];
  const hold = holdCommits(gate, (step, number) => step === 'progress' && number === 2);
  const holdNext = holdCommits(next, (step, number) => step === 'progress' && number === 3);
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1 } },
    wrap: (ports, of) => holdNext(hold(ports, of), of),
  });
  const a = world.start('A');
  await world.clock.runUntil(() => claims(a) === 1, MINUTE);
  // Steps 1, 5 to 8: A is about to acknowledge the first revision.
  const first = await command(world, 'drain', { timeoutMs: 0 });
  await world.clock.runUntil(() => gate.reached === 1, MINUTE);
  await command(world, 'resume', { timeoutMs: 0 });
  world.event(0);
  // Step 9: its acknowledgement comes when the newest command is another drain.
  world.clock.after(10 * SECOND, () => gate.open());
  const untilMs = world.clock.now() + 40 * SECOND;
  world.clock.after(40 * SECOND, () => next.open());
  const { outcome, control } = await command(world, 'drain');
  assert.equal(outcome, 'reached');
  assert.ok(world.clock.now() >= untilMs);
  assert.deepEqual(
    acknowledgements(world).map((one) => [one.revision, one.drained]),
    [
      [first.control.revision, true],
      [control.revision, false],
      [control.revision, true],
    ],
  );
  await command(world, 'resume');
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});
