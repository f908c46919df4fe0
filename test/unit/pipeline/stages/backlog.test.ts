/** Backlogs that intake leaps over. Tested with the whole engine in memory and the default size of a leap. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENGINE_LIMITS } from '../../../../src/pipeline/context/options.ts';
import { changed } from '../../../support/engine/changed.ts';
import { Gate } from '../../../support/engine/gate.ts';
import { command } from '../../../support/engine/inspection.ts';
import { TOPICS, World, type WorldSettings } from '../../../support/engine/world.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const BACKLOG = 6 * ENGINE_LIMITS.leapOffsets;

/** Returns a world with a backlog in a single partition. Reads of the leaped range wait for `gate`. */
function backlogWorld(settings: WorldSettings = {}) {
  const gate = new Gate();
  const world = new World({
    partitions: 1,
    wrap: (ports) => ({
      ...ports,
      reader: changed(ports.reader, {
        read: async (range, onPiece, signal) => {
          if (range.to - range.from > ENGINE_LIMITS.leapOffsets) await gate.pass();
          // Reports a next offset beyond the requested range, as a reader may do if a batch extends beyond the range.
          const take: typeof onPiece = (piece) =>
            onPiece(
              piece.nextOffset > range.to ? { ...piece, nextOffset: piece.nextOffset + 5 } : piece,
            );
          await ports.reader.read(range, take, signal);
        },
      }),
    }),
    ...settings,
    options: {
      batch: { maxRows: 500, maxAgeMs: SECOND },
      lanes: { live: { share: 0.5 } },
      chunk: { maxRows: 5_000 },
      ...settings.options,
    },
  });
  for (let n = 0; n < BACKLOG; n++) world.event(0, 'archive');
  return { gate, world };
}

const liveDecisions = (world: World) => world.decisions().filter(({ type }) => type === 'live');

test('with lanes, the newest records are decided while a backlog is unread; then the backlog is decided', async () => {
  const { gate, world } = backlogWorld();
  const instance = world.start();
  await world.clock.advance(10 * SECOND);
  for (let n = 0; n < 20; n++) world.event(0, 'live');
  await world.clock.advance(15 * SECOND);
  assert.equal(liveDecisions(world).length, 20);
  assert.ok(world.decisions().length < BACKLOG / 2, 'the leaped range is still unread');
  assert.ok((instance.gauge('consumer_lag') ?? 0) > BACKLOG / 2, 'the leaped range counts as lag');
  gate.open();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('without lanes, records are read in the order of the partition', async () => {
  const { gate, world } = backlogWorld({ options: { lanes: {} } });
  world.start();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  gate.open();
});

test('records that retention removes from a leaped range count as lost', async () => {
  const { gate, world } = backlogWorld();
  const instance = world.start();
  await world.clock.advance(10 * SECOND);
  const log = world.kafka.cluster.log(TOPICS.source, 0);
  log.deleteBefore(BACKLOG - 1_000);
  gate.open();
  await world.clock.advance(MINUTE);
  const decided = world.decisions().length;
  assert.equal(instance.metrics.counter('unread_records_lost_total'), BACKLOG - decided);
  assert.ok(decided >= 1_000);
});

test('a drain does not wait for a leaped range, which is read after the pipeline resumes', async () => {
  const { gate, world } = backlogWorld();
  world.start();
  await world.clock.advance(10 * SECOND);
  assert.equal((await command(world, 'drain')).outcome, 'reached');
  gate.open();
  await world.clock.advance(10 * SECOND);
  assert.ok(world.decisions().length < BACKLOG / 2);
  await command(world, 'resume');
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('the next owner reads a leaped range again, in full batches', async () => {
  const { gate, world } = backlogWorld();
  const first = world.start();
  await world.clock.advance(10 * SECOND);
  world.event(0, 'live');
  await world.clock.advance(15 * SECOND);
  first.process.kill();
  gate.open();
  world.start();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
  assert.ok(world.service.batches.size < BACKLOG / 500 + 20, `${world.service.batches.size}`);
});

test('a backlog under review leaves half of maxInFlight to the newest records of another lane', async () => {
  const { gate, world } = backlogWorld({
    budgetBytes: 400_000,
    options: { source: { maxInFlight: 1_000 }, batch: { maxRows: 50, maxAgeMs: SECOND } },
    service: { review: () => ({ afterMs: MINUTE }) },
  });
  gate.open();
  world.start();
  await world.clock.advance(10 * SECOND);
  world.event(0, 'live');
  await world.clock.advance(80 * SECOND);
  assert.equal(liveDecisions(world).length, 1);
  assert.ok(world.decisions().length < BACKLOG);
});

test('newest records that are settled above a long backlog do not count as in flight', async () => {
  const { gate, world } = backlogWorld({
    options: { source: { maxInFlight: 1_000 }, batch: { maxRows: 50, maxAgeMs: SECOND } },
  });
  world.start();
  await world.clock.advance(10 * SECOND);
  for (let round = 0; round < 6; round++) {
    for (let n = 0; n < 250; n++) world.event(0, 'live');
    await world.clock.advance(10 * SECOND);
  }
  assert.equal(liveDecisions(world).length, 1_500);
  gate.open();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('a backlog of a blocked type does not hold up the newest records of another lane', async () => {
  let isBlocked = true;
  const { gate, world } = backlogWorld({
    budgetBytes: 100_000_000,
    options: { source: { maxInFlight: 1_000 }, batch: { maxRows: 500, maxAgeMs: SECOND } },
    service: {
      fault: (operation, _, type) =>
        operation === 'create' && type === 'archive' && isBlocked
          ? { failure: 'rejected' }
          : undefined,
    },
  });
  gate.open();
  world.start();
  await world.clock.advance(MINUTE);
  world.event(0, 'live');
  await world.clock.advance(10 * SECOND);
  assert.equal(liveDecisions(world).length, 1);
  isBlocked = false;
  await world.untilSettled(10 * MINUTE);
  world.assertExactlyOnce();
});

test('intake pauses before a backlog makes the progress record too large, until the backlog is read', async () => {
  // Any progress record exceeds this limit.
  const { gate, world } = backlogWorld({ options: { maxOffsetBytes: 100 } });
  const instance = world.start();
  await world.clock.advance(10 * SECOND);
  world.event(0, 'live');
  await world.clock.advance(15 * SECOND);
  assert.equal(liveDecisions(world).length, 0);
  assert.equal(instance.gauge('shards_paused', { reason: 'in_flight' }), 1);
  gate.open();
  await world.untilSettled(5 * MINUTE);
  world.assertExactlyOnce();
});

test('records of a lane that are in no job yet count for its share of maxInFlight', async () => {
  const { gate, world } = backlogWorld({
    options: { source: { maxInFlight: 400 }, batch: { maxRows: 10, maxAgeMs: SECOND } },
    budgetBytes: 100_000_000,
    service: { review: ({ type }) => ({ afterMs: type === 'archive' ? 10 * MINUTE : 0 }) },
  });
  gate.open();
  world.start();
  await world.clock.advance(10 * SECOND);
  world.event(0, 'live');
  await world.clock.advance(10 * SECOND);
  assert.equal(liveDecisions(world).length, 1);
});
