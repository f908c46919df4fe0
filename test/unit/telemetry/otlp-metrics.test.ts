/** Metrics in OpenTelemetry's data model. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import fc from 'fast-check';
import { METRICS } from '../../../src/telemetry/metric-list.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';
import { otlpMetrics } from '../../../src/telemetry/otlp-metrics.ts';

const [STARTED, NOW] = [1_700_000_000_123, 1_700_000_060_000];

/** Returns the samples of a metric as lines of /metrics. */
function samplesOf({ descriptor: { name }, ...metric }: MetricData): string[] {
  const line = (labels: object, value: unknown, suffix = '') => {
    const pairs = Object.entries(labels).map(([key, label]) => `${key}=${JSON.stringify(label)}`);
    return `${name}${suffix}${pairs.length > 0 ? `{${pairs}}` : ''} ${value}`;
  };
  if (metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) assert.fail(name);
  if (metric.dataPointType !== DataPointType.HISTOGRAM)
    return metric.dataPoints.map(({ attributes, value }) => line(attributes, value));
  return metric.dataPoints.flatMap(({ attributes, value: { buckets, sum, count } }) => {
    let below = 0;
    const lines = buckets.counts.map((more, index) => {
      below += more;
      const le = String(buckets.boundaries[index] ?? '+Inf');
      return line({ le, ...attributes }, below, '_bucket');
    });
    return [...lines, line(attributes, sum, '_sum'), line(attributes, count, '_count')];
  });
}

const anyReport = fc.record({
  name: fc.constantFrom(...(Object.keys(METRICS) as (keyof typeof METRICS)[])),
  label: fc.constantFrom('a', 'é"\\\n', 429),
  value: fc.oneof(fc.nat(), fc.double({ min: 0, max: 1e6, noNaN: true })),
  times: fc.integer({ min: 1, max: 1_000 }),
});

test('the converted metrics have the samples of /metrics, their kind, and the start of the process', () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyReport), async (reports) => {
      const metrics = new PromMetrics({ version: '1.2.3', nodeMetrics: false });
      for (const { name, label, value, times } of reports) {
        const { kind, labels: names } = METRICS[name];
        const labels = Object.fromEntries(names.map((one) => [one, label]));
        if (kind === 'counter') metrics.count(name, labels, value);
        else if (kind === 'gauge') metrics.set(name, labels, value);
        else metrics.observe(name, labels, value, times);
      }
      const converted = otlpMetrics(await metrics.collect(), STARTED, NOW);
      const samples = (await metrics.render()).match(/^[^#\n].*$/gm);
      assert.deepEqual(converted.flatMap(samplesOf), samples);
      for (const metric of converted) {
        const isSum = metric.dataPointType === DataPointType.SUM;
        assert.equal(isSum && metric.isMonotonic, metric.descriptor.name.endsWith('_total'));
        for (const { startTime, endTime } of metric.dataPoints)
          assert.deepEqual(
            [startTime, endTime],
            [
              [1_700_000_000, 123e6],
              [1_700_000_060, 0],
            ],
          );
      }
    }),
  ));
