/** Our histograms are prom-client's, but for observations that count several times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Histogram as PromHistogram, Registry } from 'prom-client';
import { Histogram } from '../../../src/telemetry/histogram.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

const OPTIONS = { name: 'h_seconds', help: 'Help "quoted".\nTwo lines.', labelNames: ['a', 'b'], buckets: [0.5, 1, 8, 64] };

const observation = fc.record({
  labels: fc.record({ a: fc.constantFrom('x', 'y"\\\n', '","'), b: fc.constantFrom('', 'z', 7) }),
  // Eighths: sums come out the same in whatever order they are made.
  value: fc.oneof(
    fc.constantFrom(0.5, 1, 8, 64),
    fc.integer({ min: -8, max: 1_000 }).map((n) => n / 8),
  ),
  times: fc.integer({ min: 1, max: 9 }),
});

test('what is observed several times reads as if prom-client had observed it one after the other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { maxLength: 20 }), async (all) => {
      const [registry, theirs] = [new Registry(), new Registry()];
      const ours = new Histogram(OPTIONS, registry);
      const prom = new PromHistogram({ ...OPTIONS, registers: [theirs] });
      for (const { labels, value, times } of all) {
        ours.observe(labels, value, times);
        for (let n = 0; n < times; n++) prom.observe(labels, value);
      }
      assert.equal(await registry.metrics(), await theirs.metrics());
    }),
  );
});

test('two histograms of one name are a mistake', () => {
  const registry = new Registry();
  new Histogram(OPTIONS, registry);
  assert.throws(() => new Histogram(OPTIONS, registry), /already been registered/);
});

test('an observation counts once unless it says how often, and a whole number of times', async () => {
  const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
  const labels = { pipeline: 'p' };
  metrics.observe('event_to_decision_seconds', labels, 3_000);
  metrics.observe('event_to_decision_seconds', labels, 4_000, 5_000);
  const text = await metrics.render();
  assert.match(text, /event_to_decision_seconds_bucket\{le="3600",pipeline="p"\} 1\n/);
  assert.match(text, /event_to_decision_seconds_count\{pipeline="p"\} 5001\n/);
  assert.match(text, /event_to_decision_seconds_sum\{pipeline="p"\} 20003000\n/);
  for (const times of [0, -1, 0.5, Number.NaN])
    assert.throws(() => metrics.observe('event_to_decision_seconds', labels, 1, times), /nothing is observed/);
});
