/** Offsets committed by replays: after selections and resets by other tools, and if they are lost or unusable. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeadLetterReason } from '../../../../src/core/outcome/dead-letter-reason.ts';
import type { InspectError } from '../../../../src/tools/inspect/context.ts';
import { listDeadLetters } from '../../../../src/tools/inspect/dead-letters.ts';
import { type ReplayRequest, replayDeadLetters } from '../../../../src/tools/inspect/replay.ts';
import { ReplayPositions, replayGroupOf } from '../../../../src/tools/inspect/replay-positions.ts';
import { inspectionOf, putDeadLetter } from '../../../support/engine/inspection.ts';
import { TOPICS, World } from '../../../support/engine/world.ts';
import { KafkaClient } from '../../../support/memory/kafka/client.ts';
import { VirtualProcess } from '../../../support/memory/process.ts';

const GROUP = replayGroupOf(TOPICS.group);
const ALL = { reasons: [], sources: [], sinceMs: 0 };

/** Returns a world with dead letters 0, 1, … in one partition, a second apart. */
async function worldWith(...reasons: DeadLetterReason[]): Promise<World> {
  const world = new World();
  world.kafka.cluster.createTopic('retry', 1);
  for (const [offset, reason] of reasons.entries()) {
    putDeadLetter(world, 0, offset, { reason, text: String(offset) });
    await world.clock.advance(1_000);
  }
  return world;
}

async function replay(world: World, more: Partial<ReplayRequest> = {}): Promise<string> {
  const process = new VirtualProcess('replay', world.clock);
  const before = replayed(world).length;
  await world.through(
    replayDeadLetters(inspectionOf(world, { process }), {
      filter: ALL,
      to: 'retry',
      open: (group) =>
        new KafkaClient(world.kafka, process, 'replay', TOPICS).replayProducer(group, 'dead'),
      ...more,
    }),
  );
  return replayed(world).slice(before).join(' ');
}

const replayed = (world: World) =>
  world.kafka.cluster.committedRecords('retry').map(({ value }) => String(value));

const committed = (world: World) => world.kafka.cluster.committedOffset(GROUP, 'dead', 0);

test('selections by reason, record and time leave all other dead letters to later replays', async () => {
  const world = await worldWith('no_type', 'not_json', 'no_type', 'not_json', 'no_type');
  const sinceMs = world.clock.now() - 1_000;
  assert.equal(await replay(world, { filter: { ...ALL, reasons: ['not_json'] } }), '1 3');
  assert.equal(committed(world).offset, 0);
  const sources = [2, 3].map((offset) => ({ partition: 0, offset }));
  assert.equal(await replay(world, { filter: { reasons: [], sources } }), '2');
  const { deadLetters } = await world.through(listDeadLetters(inspectionOf(world), ALL, 10));
  assert.deepEqual(
    deadLetters.map((one) => one.replayed),
    [false, true, true, true, false],
  );
  assert.equal(await replay(world, { filter: { ...ALL, sinceMs } }), '4');
  assert.equal(await replay(world), '0');
  assert.equal(await replay(world), '');
});

test('without committed offsets a replay requires a time', async () => {
  const world = await worldWith('no_type', 'no_type');
  const filter = { reasons: ['no_type'], sources: [] };
  await assert.rejects(
    replay(world, { filter }),
    (error: InspectError) =>
      error.failure === 'usage' && /has no offsets.*--since/.test(error.message),
  );
  assert.deepEqual(replayed(world), []);
  const named = { ...filter, sources: [{ partition: 0, offset: 1 }] };
  await assert.rejects(replay(world, { filter: named }), /has no offsets.*--since/);
  assert.equal(await replay(world, { filter: { ...named, sinceMs: 0 } }), '1');
  assert.equal(await replay(world, { filter }), '0');
});

test('after Kafka has deleted the offsets, dead letters before the first replay time count as replayed', async () => {
  const world = await worldWith('no_type', 'not_json', 'no_type', 'not_json', 'no_type');
  const sinceMs = world.clock.now() - 3_000;
  assert.equal(await replay(world), '0 1 2 3 4');
  world.kafka.cluster.deleteOffsets(GROUP);
  const filter = { reasons: ['not_json' as const], sources: [], sinceMs };
  assert.equal(await replay(world, { filter }), '3');
  const rest = { reasons: [], sources: [] };
  assert.equal(await replay(world, { filter: rest }), '2 4');
  assert.equal(await replay(world, { filter: rest }), '');
});

test('after a reset by another tool the replay starts there again', async () => {
  const world = await worldWith('no_type', 'no_type', 'no_type');
  await replay(world);
  world.kafka.cluster.commitOffset(GROUP, 'dead', 0, 1, '');
  assert.equal(await replay(world), '1 2');
});

test('dead letters of a recreated topic count as new', async () => {
  const world = await worldWith('no_type', 'no_type');
  await replay(world);
  world.kafka.cluster.deleteTopic('dead');
  world.kafka.cluster.createTopic('dead', 1);
  assert.equal(committed(world).offset, null);
});

test('offsets that the coordinator returns late are awaited', async () => {
  let staleUntilMs = -Infinity;
  const world = await worldWith('no_type', 'no_type', 'no_type');
  const only = (offset: number) => [{ partition: 0, offset }];
  await replay(world, { filter: { ...ALL, sources: only(0) } });
  await replay(world, { filter: { reasons: [], sources: only(1) } });
  world.kafka.hooks.staleCommitted = () => world.clock.now() < staleUntilMs;
  staleUntilMs = world.clock.now() + 1_500;
  assert.equal(await replay(world), '2');
});

test('offsets with foreign metadata are refused', async () => {
  const world = await worldWith('no_type');
  for (const metadata of [
    '{"v":2,"ranges":{}}',
    'v1:7',
    '{"v":1,"ranges":{"no_type":"Ag=="}}',
    '{"v":1,"ranges":{"no_type":{"length":4e9}}}',
  ]) {
    world.kafka.cluster.commitOffset(GROUP, 'dead', 0, 0, metadata);
    await assert.rejects(
      replay(world),
      (error: InspectError) => error.failure === 'refused' && /cannot read/.test(error.message),
      metadata,
    );
  }
});

test('a selection with too many ranges for the metadata of an offset is refused', () => {
  const positions = new ReplayPositions(inspectionOf(new World()));
  const letter = (offset: number) => ({
    at: { partition: 0, offset },
    reason: 'no_type',
  });
  const chosen = Array.from({ length: 2_000 }, (_, n) => {
    positions.leave(letter(1_000 * n));
    return positions.choose(letter(1_000 * n + 500));
  });
  const [commit] = positions.add(chosen.slice(0, 500));
  assert.equal(commit?.offset, 0);
  assert.throws(
    () => positions.add(chosen.slice(500)),
    (error: InspectError) => error.failure === 'refused' && /too scattered/.test(error.message),
  );
});
