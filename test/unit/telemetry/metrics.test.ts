import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LABELS, METRICS, type MetricDefinition } from '../../../src/telemetry/metric-list.ts';
import { METRIC_PREFIX, PromMetrics } from '../../../src/telemetry/metrics.ts';

const LIST = Object.entries<MetricDefinition>(METRICS);

function newMetrics(): PromMetrics {
  return new PromMetrics({ version: '1.2.3', nodeMetrics: false });
}

function anyLabels(definition: MetricDefinition): Record<string, string> {
  return Object.fromEntries(definition.labels.map((label) => [label, 'x']));
}

describe('metric list', () => {
  it('follows the naming rules of Prometheus: _total for counters only, base units, snake case', () => {
    for (const [name, { kind }] of LIST) {
      assert.match(name, /^[a-z][a-z0-9_]*$/);
      assert.equal(name.endsWith('_total'), kind === 'counter', name);
      assert.doesNotMatch(name, /_(ms|millis|milliseconds|minutes|kb|mb|mib)(_|$)/, name);
    }
  });

  it('defines ascending buckets for every histogram, and only for histograms', () => {
    for (const [name, { kind, buckets }] of LIST) {
      assert.equal(buckets !== undefined, kind === 'histogram', name);
      for (let i = 1; i < (buckets?.length ?? 0); i++)
        assert.ok((buckets?.[i] ?? 0) > (buckets?.[i - 1] ?? 0), name);
    }
  });

  it('explains exactly the labels in use', () => {
    assert.deepEqual(
      new Set(LIST.flatMap(([, { labels }]) => labels)),
      new Set(Object.keys(LABELS)),
    );
  });

  it('has buckets for stages from 5 ms to 24 h', () => {
    assert.equal(METRICS.stage_duration_seconds.buckets[0], 0.005);
    assert.equal(METRICS.stage_duration_seconds.buckets.at(-1), 86_400);
  });
});

describe('prometheus metrics', () => {
  it('exposes exactly the listed metrics, with prefix, type and help', async () => {
    const text = await newMetrics().render();
    const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [
      name,
      type,
    ]);
    assert.deepEqual(
      new Map(types as [string, string][]),
      new Map(LIST.map(([name, { kind }]) => [METRIC_PREFIX + name, kind])),
    );
    for (const [name, { help }] of LIST)
      assert.ok(text.includes(`# HELP ${METRIC_PREFIX}${name} ${help}\n`), name);
  });

  it('accepts a value for every listed metric with exactly its labels', async () => {
    const metrics = newMetrics();
    for (const [name, definition] of LIST) {
      if (definition.kind === 'counter') metrics.count(name, anyLabels(definition), 2);
      else if (definition.kind === 'gauge') metrics.set(name, anyLabels(definition), 2);
      else metrics.observe(name, anyLabels(definition), 2);
    }
    const text = await metrics.render();
    for (const [name, { kind, labels }] of LIST) {
      const series = labels.map((label) => `${label}="x"`).join(',');
      const line = `${METRIC_PREFIX}${name}${kind === 'histogram' ? '_sum' : ''}${series === '' ? '' : `{${series}}`} 2`;
      assert.ok(text.split('\n').includes(line), line);
    }
  });

  it('adds to counters, sets and removes gauges', async () => {
    const metrics = newMetrics();
    metrics.count('decisions_total', { pipeline: 'p', status: 'SUCCESS' });
    metrics.count('decisions_total', { pipeline: 'p', status: 'SUCCESS' }, 4);
    metrics.set('shards_paused', { pipeline: 'p', reason: 'memory' }, 1);
    metrics.set('shards_paused', { pipeline: 'p', reason: 'in_flight' }, 1);
    metrics.set('shards_paused', { pipeline: 'p', reason: 'memory' }, undefined);
    const text = await metrics.render();
    assert.match(text, /decisions_total\{pipeline="p",status="SUCCESS"\} 5/);
    assert.match(text, /shards_paused\{pipeline="p",reason="in_flight"\} 1/);
    assert.doesNotMatch(text, /reason="memory"/);
  });

  it('starts counters with known labels at 0, so that increase() includes the first event', async () => {
    const metrics = newMetrics();
    metrics.startPipeline('p');
    const text = await metrics.render();
    for (const series of [
      'unread_records_lost_total{pipeline="p"}',
      'decisions_total{pipeline="p",status="ERROR"}',
      'dead_lettered_total{pipeline="p",reason="not_json"}',
      'result_anomalies_total{pipeline="p",kind="missing"}',
    ])
      assert.ok(text.includes(`content_review_${series} 0\n`), series);
    assert.doesNotMatch(text, /^content_review_(jobs_failed|decision_results|claims)_total\{/m);
    metrics.count('rebalances_total', { pipeline: 'p' });
    metrics.startPipeline('p');
    assert.match(await metrics.render(), /rebalances_total\{pipeline="p"\} 1/);
  });

  it('refuses an invalid name, kind, label or number', () => {
    const metrics = newMetrics();
    assert.throws(
      () => metrics.count('decision_total', {}),
      /decision_total is not in metric-list/,
    );
    assert.throws(() => metrics.count('toString', {}), /not in metric-list/);
    assert.throws(
      () => metrics.set('decisions_total', { pipeline: 'p', status: 's' }, 1),
      /is a counter, not a gauge/,
    );
    assert.throws(
      () => metrics.count('decisions_total', { pipeline: 'p', type: 't' }),
      /needs the labels \{pipeline, status\}, got \{pipeline, type\}/,
    );
    assert.throws(
      () => metrics.count('decisions_total', { pipeline: 'p' }),
      /needs the labels \{pipeline, status\}/,
    );
    assert.throws(
      () => metrics.count('decisions_total', { pipeline: 'p', status: 's' }, -1),
      /cannot be increased by -1/,
    );
    assert.throws(
      () => metrics.count('decisions_total', { pipeline: 'p', status: 's' }, Number.NaN),
      /cannot be increased by NaN/,
    );
    assert.throws(() => metrics.set('memory_used_bytes', {}, Number.NaN), /not a finite number/);
    assert.throws(
      () => metrics.observe('batch_rows', { pipeline: 'p' }, Number.POSITIVE_INFINITY),
      /not a finite number/,
    );
    assert.throws(
      () => metrics.set('batch_rows', { pipeline: 'p' }, undefined),
      /is a histogram, not a gauge/,
    );
  });

  it('exposes the versions, and the metrics of Node under their usual names', async () => {
    const text = await new PromMetrics({ version: '1.2.3' }).render();
    assert.ok(
      text.includes(`content_review_build_info{version="1.2.3",node="${process.version}"} 1`),
    );
    assert.match(text, /^process_cpu_seconds_total /m);
    assert.match(text, /^nodejs_heap_size_used_bytes /m);
  });

  it('does not share series between instances', async () => {
    const [one, two] = [newMetrics(), newMetrics()];
    one.set('memory_used_bytes', {}, 7);
    assert.match(await two.render(), /content_review_memory_used_bytes 0/);
  });
});

it('an observation counts once unless a positive integer count is given', async () => {
  const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
  const labels = { pipeline: 'p' };
  metrics.observe('event_to_decision_seconds', labels, 3_000);
  metrics.observe('event_to_decision_seconds', labels, 4_000, 5_000);
  const text = await metrics.render();
  assert.match(text, /event_to_decision_seconds_bucket\{le="3600",pipeline="p"\} 1\n/);
  assert.match(text, /event_to_decision_seconds_count\{pipeline="p"\} 5001\n/);
  assert.match(text, /event_to_decision_seconds_sum\{pipeline="p"\} 20003000\n/);
  for (const times of [0, -1, 0.5, Number.NaN])
    assert.throws(
      () => metrics.observe('event_to_decision_seconds', labels, 1, times),
      /is not a number of observations/,
    );
});

it('an observation with a count equals this number of single observations', async () => {
  const observation = fc.record({
    name: fc.constantFrom('event_to_decision_seconds', 'batch_rows'),
    pipeline: fc.constantFrom('p', 'q"\\', '1'),
    // Multiples of 0.25, whose sums are exact. The largest values are above every bucket.
    value: fc.integer({ min: 0, max: 8e6 }).map((quarters) => quarters / 4),
    times: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(observation, { maxLength: 20 }), async (all) => {
      const [one, other] = [newMetrics(), newMetrics()];
      for (const { name, pipeline, value, times } of all) {
        one.observe(name, { pipeline }, value, times);
        for (let left = times; left > 0; left--) other.observe(name, { pipeline }, value);
      }
      assert.equal(await one.render(), await other.render());
    }),
  );
});
