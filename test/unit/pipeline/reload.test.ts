/** Options that change while a pipeline runs, tested with the whole engine in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lanes } from '../../../src/pipeline/limits/lanes.ts';
import { World, type WorldSettings } from '../../support/engine/world.ts';

const SECOND = 1_000;

/** Starts a pipeline with one shard. */
function running(settings: WorldSettings) {
  const world = new World({ partitions: 1, ...settings });
  const { pipeline, metrics } = world.start();
  const rows = () => world.service.uploads.map(({ rows }) => rows);
  return { world, options: world.options, pipeline, metrics, rows };
}

test('limits of batches apply to open batches, by type', async () => {
  const { world, options, pipeline, rows } = running({
    options: { batch: { maxRows: 1_000, maxAgeMs: 300 * SECOND } },
  });
  world.produce(4, { types: ['a', 'b'] });
  await world.clock.advance(5 * SECOND);
  const types = { b: { maxAgeMs: 400 * SECOND } };
  pipeline.reload({ ...options, batch: { ...options.batch, maxAgeMs: SECOND, types } });
  await world.clock.advance(5 * SECOND);
  assert.deepEqual(rows(), [2]);
  pipeline.reload({ ...options, batch: { ...options.batch, maxRows: 3 } });
  world.produce(1, { types: ['b'] });
  await world.clock.advance(5 * SECOND);
  assert.deepEqual(rows(), [2, 3]);
});

test('a higher source.maxInFlight resumes a paused partition', async () => {
  const source = { ...new World().options.source, maxInFlight: 10 };
  const { world, options, pipeline } = running({
    options: { source },
    service: { review: () => ({ afterMs: 900 * SECOND }) },
  });
  for (let round = 0; round < 5; round++) {
    world.produce(10);
    await world.clock.advance(5 * SECOND);
  }
  assert.ok((pipeline.view().lag ?? 0) > 0);
  pipeline.reload({ ...options, source: { ...source, maxInFlight: 1_000 } });
  await world.clock.advance(5 * SECOND);
  assert.equal(pipeline.view().lag, 0);
});

test('a higher quota admits waiting batches at once, and an objective applies to later decisions', async () => {
  const { world, options, pipeline, metrics, rows } = running({
    options: { batch: { maxRows: 4, maxAgeMs: SECOND }, quota: { rowsPerMinute: 16 } },
  });
  world.produce(80, { types: ['a'] });
  await world.clock.advance(10 * SECOND);
  assert.equal(rows().length, 16);
  pipeline.reload({ ...options, quota: { rowsPerMinute: 1_000 }, objective: { ageMs: 1 } });
  await world.untilSettled(20 * SECOND);
  world.assertExactlyOnce();
  assert.ok(metrics.counter('decisions_late_total') > 0);
});

test('shares of lanes leave the rest to the default lane', () => {
  const lanes = new Lanes({ live: { share: 0.5 }, bulk: { share: 0.25, ageMs: 9 } }, 5);
  lanes.change({ live: { share: 0.25, ageMs: 2 }, bulk: { share: 0.25 } }, 7);
  const shown = lanes.all.map(({ share, ageMs }) => `${share} ${ageMs}`);
  assert.deepEqual(shown, ['0.25 2', '0.25 7', '0.5 7']);
});
