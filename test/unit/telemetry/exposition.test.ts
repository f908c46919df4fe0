import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMetricsOf, prefersOpenMetrics } from '../../../src/telemetry/metrics/exposition.ts';
import { METRICS } from '../../../src/telemetry/metrics/metric-list.ts';
import { METRIC_PREFIX, PromMetrics } from '../../../src/telemetry/metrics/metrics.ts';

test('counters lose _total in their family and keep it in their samples; seconds and bytes are units; the end is marked', () => {
  const text = [
    '# HELP decisions_total Says "who".',
    '# TYPE decisions_total counter',
    'decisions_total{status="# TYPE"} 5',
    '',
    '# HELP wait_seconds How long.',
    '# TYPE wait_seconds gauge',
    'wait_seconds Nan',
    '',
  ].join('\n');
  assert.deepEqual(openMetricsOf(text).split('\n'), [
    '# TYPE decisions counter',
    '# HELP decisions Says \\"who\\".',
    'decisions_total{status="# TYPE"} 5',
    '# TYPE wait_seconds gauge',
    '# UNIT wait_seconds seconds',
    '# HELP wait_seconds How long.',
    'wait_seconds NaN',
    '# EOF',
    '',
  ]);
});

test('every sample of the plain format is one of OpenMetrics too, with its name and labels as they were', async () => {
  const text = await new PromMetrics({ version: '1' }).render();
  const samples = (of: string) =>
    of.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  assert.deepEqual(
    samples(openMetricsOf(text)),
    samples(text).map((line) => line.replace(/ Nan$/, ' NaN')),
  );
});

test('every metric in seconds or bytes says so', async () => {
  const open = openMetricsOf(await new PromMetrics({ version: '1', nodeMetrics: false }).render());
  for (const name of Object.keys(METRICS)) {
    const unit = /_(seconds|bytes)$/.exec(name)?.[1];
    assert.equal(open.includes(`# UNIT ${METRIC_PREFIX}${name} `), unit !== undefined, name);
  }
});

test('OpenMetrics is for those who prefer it to text', () => {
  const prometheus2 =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;q=0.5';
  assert.ok(prefersOpenMetrics(prometheus2));
  assert.ok(prefersOpenMetrics('Application/OpenMetrics-Text; charset=utf-8'));
  assert.ok(
    !prefersOpenMetrics(
      'text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5',
    ),
  );
  assert.ok(!prefersOpenMetrics('application/openmetrics-text;version=2.0.0,text/plain;q=0.1'));
  for (const other of [
    undefined,
    '',
    '*/*',
    'text/html',
    'application/openmetrics-text;q=0',
    'application/openmetrics-text;q=x',
  ])
    assert.ok(!prefersOpenMetrics(other), String(other));
});
