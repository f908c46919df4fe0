/** Metrics of batches, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Instance, World, type WorldSettings } from '../../support/engine/world.ts';
import { sourceKind } from '../../support/memory/service/source-kind.ts';

const MINUTE = 60_000;

const oldest = ({ metrics }: Instance, state: string) =>
  metrics.gauge('oldest_batch_timestamp_seconds', { pipeline: 'reviews', state });

test('the metric of the oldest batch in a state has its creation time, and no value without a batch', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 2 } },
    service: { review: ({ id }) => ({ afterMs: id === 'batch-1' ? 5 * MINUTE : MINUTE }) },
  });
  const instance = world.start();
  const beganMs = world.clock.now();
  for (let n = 0; n < 2; n++) world.event(0);
  await world.clock.advance(2 * MINUTE);
  for (let n = 0; n < 2; n++) world.event(0);
  await world.clock.advance(5_000);
  const createdSeconds = oldest(instance, 'reviewing') ?? assert.fail('no batch is under review');
  assert.ok(
    createdSeconds * 1_000 >= beganMs && createdSeconds * 1_000 < beganMs + MINUTE,
    `${createdSeconds}`,
  );
  assert.equal(oldest(instance, 'retrying'), undefined);
  await world.clock.advance(6 * MINUTE);
  assert.equal(world.decisions().length, 4);
  assert.equal(oldest(instance, 'reviewing'), undefined);
});

const ages = ({ metrics }: Instance) =>
  metrics.observations.get('event_to_decision_seconds{pipeline="reviews"}') ?? [];

const WITHOUT_FILES: WorldSettings = {
  wrap: (ports) => ({ ...ports, kind: sourceKind(ports.kind, { slice: 5 }) }),
};

test('the age of decisions counts each decision with the age of the oldest event in its batch', async () => {
  for (const kind of [{}, WITHOUT_FILES]) {
    const world = new World({ partitions: 1, options: { batch: { maxRows: 5 } }, ...kind });
    const instance = world.start();
    await world.clock.advance(2_000);
    const nowMs = world.clock.now();
    for (const hours of [1, 2, 9, 3, 1]) world.event(0, 'a', nowMs - hours * 60 * MINUTE);
    await world.untilSettled(MINUTE);
    assert.equal(world.decisions().length, 5);
    assert.equal(ages(instance).length, 5, 'in two transactions, of three and of two');
    for (const seconds of ages(instance))
      assert.ok(seconds >= 9 * 3_600 && seconds < 9 * 3_600 + 60, `${seconds}`);
  }
});

test('each stage of a batch is timed', async () => {
  const world = new World({
    partitions: 1,
    service: { review: () => ({ afterMs: MINUTE }) },
  });
  const { metrics } = world.start();
  for (let n = 0; n < 5; n++) world.event(0);
  await world.untilSettled(2 * MINUTE);
  const seconds = (stage: string) =>
    metrics.observations.get(`stage_duration_seconds{pipeline="reviews",stage="${stage}"}`);
  assert.equal(seconds('create')?.length, 1);
  assert.equal(seconds('upload')?.length, 1);
  assert.equal(seconds('settle')?.length, 1);
  const [review = 0] = seconds('review') ?? [];
  assert.ok(review >= 60 && review < 70, `${review} s`);
});

test('decisions count as late after objective.age, which need not be a bucket boundary', async () => {
  for (const [ageMinutes, late] of [
    [99, 5],
    [102, 0],
  ] as const) {
    const objective = { ageMs: ageMinutes * MINUTE };
    const world = new World({ partitions: 1, options: { objective, batch: { maxRows: 5 } } });
    const instance = world.start();
    const oldestMs = world.clock.now() - 100 * MINUTE;
    for (let n = 0; n < 5; n++) world.event(0, 'a', oldestMs + n);
    await world.untilSettled(MINUTE);
    assert.equal(instance.metrics.counter('decisions_late_total', { pipeline: 'reviews' }), late);
    assert.equal(instance.metrics.counter('decisions_total', { status: 'SUCCESS' }), 5);
  }
});
