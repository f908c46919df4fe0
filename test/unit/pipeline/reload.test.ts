/** Options that change while a pipeline runs, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineOptions } from '../../../src/pipeline/context/options.ts';
import { CallPacer } from '../../../src/pipeline/limits/call-pacer.ts';
import { Lanes } from '../../../src/pipeline/limits/lanes.ts';
import { World } from '../../support/engine/world.ts';
import { VirtualClock } from '../../support/memory/clock.ts';

const SECOND = 1_000;

const rowsOf = ({ service }: World): number[] => service.uploads.map(({ rows }) => rows);

/** Reloads the only instance of a world with changes of some groups of options. */
function reload({ instances, options }: World, changes: Partial<PipelineOptions>): void {
  const next = { ...options, ...changes };
  instances[0]?.pipeline.checkReload(next);
  instances[0]?.pipeline.reload(next);
}

test('limits of batches apply to batches that are already open, for each type', async () => {
  const world = new World({
    partitions: 1,
    options: { batch: { maxRows: 1_000, maxAgeMs: 300 * SECOND } },
  });
  world.start();
  world.produce(4, { types: ['a', 'b'] });
  await world.clock.advance(5 * SECOND);
  assert.deepEqual(rowsOf(world), []);
  const { batch } = world.options;
  reload(world, {
    batch: { ...batch, maxAgeMs: SECOND, types: { b: { maxAgeMs: 400 * SECOND } } },
  });
  await world.clock.advance(5 * SECOND);
  assert.deepEqual(rowsOf(world), [2]);
  reload(world, { batch: { ...batch, maxRows: 3 } });
  world.produce(1, { types: ['b'] });
  await world.clock.advance(5 * SECOND);
  assert.deepEqual(rowsOf(world), [2, 3]);
});

test('a higher source.maxInFlight resumes a paused partition', async () => {
  const world = new World({
    partitions: 1,
    options: { source: { ...new World().options.source, maxInFlight: 10 } },
    service: { review: () => ({ afterMs: 900 * SECOND }) },
  });
  const instance = world.start();
  for (let round = 0; round < 5; round++) {
    world.produce(10);
    await world.clock.advance(5 * SECOND);
  }
  assert.ok((instance.pipeline.view().lag ?? 0) > 0);
  reload(world, { source: { ...world.options.source, maxInFlight: 1_000 } });
  await world.clock.advance(5 * SECOND);
  assert.equal(instance.pipeline.view().lag, 0);
});

test('a higher quota admits waiting and parked batches at once, and one that is too small for the shards is refused', async () => {
  const world = new World({
    partitions: 2,
    options: { batch: { maxRows: 4, maxAgeMs: SECOND }, quota: { rowsPerDay: 16 } },
  });
  world.start();
  assert.throws(() => reload(world, { quota: { rowsPerDay: 17 } }), /is starting/);
  world.produce(80, { types: ['a'] });
  await world.clock.advance(30 * SECOND);
  assert.ok(rowsOf(world).reduce((sum, rows) => sum + rows, 0) <= 16);
  assert.throws(() => reload(world, { quota: { rowsPerDay: 1 } }), /less than one row/);
  reload(world, { quota: { rowsPerDay: 1_000 } });
  await world.untilSettled(60 * SECOND);
  world.assertExactlyOnce();
});

test('an objective applies to decisions from then on', async () => {
  const world = new World({ partitions: 1, options: { batch: { maxAgeMs: SECOND } } });
  const instance = world.start();
  const late = async () => {
    world.produce(2);
    await world.untilSettled(60 * SECOND);
    return instance.metrics.counter('decisions_late_total', { pipeline: 'reviews' });
  };
  assert.equal(await late(), 0);
  reload(world, { objective: { ageMs: 1 } });
  assert.equal(await late(), 2);
});

test('changed shares leave the rest to the default lane, and the lanes stay the same objects', () => {
  const lanes = new Lanes({ live: { share: 0.5 }, bulk: { share: 0.25, ageMs: 9 } }, 5);
  const before = lanes.all;
  lanes.change({ live: { share: 0.25, ageMs: 2 }, bulk: { share: 0.25 } }, 7);
  assert.deepEqual(
    lanes.all.map(({ share, ageMs }) => [share, ageMs]),
    [
      [0.25, 2],
      [0.25, 7],
      [0.5, 7],
    ],
  );
  assert.ok(before.every((lane, index) => lane === lanes.all[index]));
});

test('a higher rate of calls applies to calls that already wait', async () => {
  const clock = new VirtualClock();
  const pacer = new CallPacer(1, clock);
  const { signal } = new AbortController();
  pacer.claimed(1, signal);
  let made = 0;
  for (let n = 0; n < 20; n++) void pacer.turn(signal).then(() => made++);
  await clock.advance(2 * SECOND);
  assert.equal(made, 2);
  pacer.change(100);
  await clock.advance(SECOND);
  assert.equal(made, 20);
});
