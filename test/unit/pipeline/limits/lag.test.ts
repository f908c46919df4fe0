/** The lag of intake: what is between it and the end of the log, also while it is paused. Over the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changed } from '../../../support/engine/changed.ts';
import { World, type WorldSettings } from '../../../support/engine/world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

interface Questions {
  readonly asked: number[][];
  answers: boolean;
}

/** A world that remembers which ends were asked for. */
function watched(settings: WorldSettings): { world: World; questions: Questions } {
  const questions: Questions = { asked: [], answers: true };
  const world = new World({
    ...settings,
    wrap: (ports) => ({
      ...ports,
      admin: changed(ports.admin, {
        ends: (topic, partitions) => {
          questions.asked.push([...partitions]);
          return questions.answers
            ? ports.admin.ends(topic, partitions)
            : new Promise(() => undefined);
        },
      }),
    }),
  });
  return { world, questions };
}

/** One record holds up W, so that intake pauses when it has read 20 more. */
const PAUSED: WorldSettings = {
  partitions: 1,
  options: { source: { maxInFlight: 20 } },
  service: {
    fault: (operation) => (operation === 'create' ? { failure: 'unavailable' } : undefined),
  },
};

test('the lag of a partition that is paused grows with what is produced', async () => {
  const { world } = watched(PAUSED);
  const instance = world.start();
  for (let n = 0; n < 30; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'in_flight' }), 1);
  assert.equal(instance.gauge('consumer_lag'), 0, 'one fetch brings all of them');
  for (let n = 0; n < 5_000; n++) world.event(0);
  await world.clock.advance(20 * SECOND);
  assert.equal(instance.gauge('consumer_lag'), 5_000);
});

test('records after a transaction that a producer left open are lag, until they can be read', async () => {
  const world = new World({ partitions: 1 });
  const instance = world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.equal(instance.gauge('consumer_lag'), 0);
  const log = world.kafka.cluster.log('content', 0);
  log.append([{ key: null, value: 'hangs' }], world.clock.now(), 77);
  for (let n = 0; n < 9; n++) world.event(0);
  await world.clock.advance(20 * SECOND);
  assert.equal(instance.gauge('consumer_lag'), 10);
  await world.clock.advance(10 * MINUTE);
  assert.equal(instance.gauge('consumer_lag'), 10);
  // A second one: what lies between them can be read now, and what lies behind it is known to.
  log.append([{ key: null, value: 'hangs' }], world.clock.now(), 78);
  world.event(0);
  await world.clock.advance(20 * SECOND);
  log.finish(77, 'abort', world.clock.now());
  await world.clock.advance(2 * SECOND);
  assert.equal(
    instance.gauge('consumer_lag'),
    3,
    'the record between them, and the two ends of the first transaction',
  );
  log.finish(78, 'abort', world.clock.now());
  await world.clock.advance(5 * SECOND);
  assert.equal(instance.gauge('consumer_lag'), 0);
});

test('while Kafka does not answer, nobody asks again, the shard goes on, and a stop waits for nothing', async () => {
  const { world, questions } = watched({ partitions: 1 });
  questions.answers = false;
  const instance = world.start();
  for (let n = 0; n < 3; n++) world.event(0);
  await world.clock.advance(10 * MINUTE);
  assert.equal(questions.asked.length, 1);
  assert.deepEqual(
    [world.decisions().length, instance.gauge('shards_paused', { reason: 'kafka' }) ?? 0],
    [3, 0],
  );
  assert.ok([...instance.health.loops.values()].every((loop) => loop === 'beat'));
  await world.through(instance.stop(), 5 * SECOND);
  assert.equal(instance.process.timers, 0);
});

test('the lag is unknown once an end is not known any more, for the pipeline and for its shard', async () => {
  const { world, questions } = watched({ partitions: 2, options: { journal: { partitions: 2 } } });
  const instance = world.start();
  await world.clock.advance(MINUTE);
  const view = () => instance.pipeline.view();
  assert.deepEqual(
    [view().lag, view().shards.map(({ lag }) => lag), instance.gauge('consumer_lag')],
    [0, [0, 0], 0],
  );
  questions.answers = false;
  // Partition 0 is heard of by what is fetched.
  for (let n = 0; n < 10; n++) {
    world.event(0);
    await world.clock.advance(SECOND);
  }
  const { lag, shards } = view();
  assert.deepEqual(
    [lag, shards.map(({ lag }) => lag), instance.gauge('consumer_lag')],
    [null, [0, null], undefined],
  );
});
