/**
 * Lag of intake, which counts records up to the end of the log even while intake is paused. Tested with the whole
 * engine in memory.
 */
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

/** Returns a world that records which end offsets were requested. */
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

/** Settings in which the first record holds back the watermark, so that intake pauses after 20 more records. */
const PAUSED: WorldSettings = {
  partitions: 1,
  options: { source: { maxInFlight: 20 } },
  service: {
    fault: (operation) => (operation === 'create' ? { failure: 'unavailable' } : undefined),
  },
};

test('the lag of a paused partition grows with the produced records', async () => {
  const { world } = watched(PAUSED);
  const instance = world.start();
  for (let n = 0; n < 30; n++) world.event(0);
  await world.clock.advance(MINUTE);
  assert.equal(instance.gauge('shards_paused', { reason: 'in_flight' }), 1);
  assert.equal(instance.gauge('consumer_lag'), 0, 'one fetch returns all records');
  for (let n = 0; n < 5_000; n++) world.event(0);
  await world.clock.advance(20 * SECOND);
  assert.equal(instance.gauge('consumer_lag'), 5_000);
});

test('records after an open transaction of a producer count as lag until they can be read', async () => {
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
  // With a second open transaction, only the records between the two become readable.
  log.append([{ key: null, value: 'hangs' }], world.clock.now(), 78);
  world.event(0);
  await world.clock.advance(20 * SECOND);
  log.finish(77, 'abort', world.clock.now());
  await world.clock.advance(2 * SECOND);
  assert.equal(
    instance.gauge('consumer_lag'),
    3,
    'the second transaction, the record after it, and the abort marker',
  );
  log.finish(78, 'abort', world.clock.now());
  await world.clock.advance(5 * SECOND);
  assert.equal(instance.gauge('consumer_lag'), 0);
});

test('while Kafka does not respond, the request for the end of the log is not repeated, the shard continues, and a stop does not wait', async () => {
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
  await world.through(instance.stop(), 5 * SECOND);
  assert.equal(instance.process.timers, 0);
});

test('the lag of a shard and of its pipeline is unknown if an end offset is out of date', async () => {
  const { world, questions } = watched({ partitions: 2, options: { journal: { partitions: 2 } } });
  const instance = world.start();
  await world.clock.advance(MINUTE);
  const view = () => instance.pipeline.view();
  assert.deepEqual(
    [view().lag, view().shards.map(({ lag }) => lag), instance.gauge('consumer_lag')],
    [0, [0, 0], 0],
  );
  questions.answers = false;
  // The lag of partition 0 is known from its fetches.
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
