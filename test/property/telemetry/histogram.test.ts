import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Histogram as PromHistogram, Registry } from 'prom-client';
import { Histogram } from '../../../src/telemetry/metrics/histogram.ts';

/** Sums of these are exact, in whatever order and however often they are added. */
const value = fc.integer({ min: -4_000, max: 40_000 }).map((quarters) => quarters / 4);
const observation = fc.record({
  labels: fc.record({
    pipeline: fc.constantFrom('p', 'q "quoted"', 'back\\slash\nline'),
    stage: fc.constantFrom('a', 'b', ''),
  }),
  value,
  times: fc.integer({ min: 1, max: 50 }),
});
/** Not below zero: prom-client takes a bound of -1 for none. */
const bounds = fc
  .uniqueArray(
    fc.nat(40_000).map((quarters) => quarters / 4),
    { maxLength: 6 },
  )
  .map((some) => some.sort((a, b) => a - b));

test('a value observed n times is exposed as by n observations of prom-client, label by label and bucket by bucket', async () => {
  await fc.assert(
    fc.asyncProperty(
      bounds,
      fc.array(observation, { maxLength: 20 }),
      async (buckets, observations) => {
        const registry = new Registry();
        const help = 'Two\nlines, and a \\.';
        const theirs = new PromHistogram({
          name: 'h',
          help,
          labelNames: ['pipeline', 'stage'],
          buckets,
          registers: [registry],
        });
        const ours = new Histogram('h', help, buckets);
        for (const { labels, value: observed, times } of observations) {
          for (let n = 0; n < times; n++) theirs.observe(labels, observed);
          ours.observe(labels, observed, times);
        }
        assert.equal(ours.render(), await registry.getSingleMetricAsString('h'));
      },
    ),
  );
});

test('a histogram without labels is exposed as by prom-client', async () => {
  const registry = new Registry();
  const theirs = new PromHistogram({
    name: 'h',
    help: 'Help.',
    buckets: [0.5, 1],
    registers: [registry],
  });
  const ours = new Histogram('h', 'Help.', [0.5, 1]);
  for (const observed of [0.25, 1, 7]) {
    theirs.observe(observed);
    ours.observe({}, observed, 1);
  }
  assert.equal(ours.render(), await registry.getSingleMetricAsString('h'));
});
