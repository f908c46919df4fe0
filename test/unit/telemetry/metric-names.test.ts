/** Dashboards and alerts of users know these names: they are an API (docs/metrics.md, Names are an API). */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Health } from '../../../src/telemetry/health.ts';
import { METRICS, type MetricDefinition } from '../../../src/telemetry/metric-list.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

/** Names with their labels. Add to it; removing or renaming one makes a breaking change and says so in CHANGELOG.md. */
const PUBLISHED = [
  'events_consumed_total{pipeline}',
  'events_skipped_total{pipeline,reason}',
  'decisions_total{pipeline,status}',
  'decision_results_total{pipeline,result}',
  'dead_lettered_total{pipeline,reason}',
  'event_to_decision_seconds{pipeline}',
  'decisions_late_total{pipeline}',
  'objective_age_seconds{pipeline}',
  'objective_in_time_ratio{pipeline}',
  'items_recovered_total{pipeline}',
  'items_released_total{pipeline}',
  'items_in_flight{pipeline}',
  'items_buffered{pipeline}',
  'balance_items{pipeline}',
  'kafka_silent_seconds{}',
  'consumer_lag{pipeline}',
  'oldest_unsettled_timestamp_seconds{pipeline}',
  'internal_errors_total{pipeline,stage}',
  'unread_records_lost_total{pipeline}',
  'reset_skipped_records_total{pipeline}',
  'batches{pipeline,state}',
  'oldest_batch_timestamp_seconds{pipeline,state}',
  'batches_created_total{pipeline}',
  'batch_rows{pipeline}',
  'batch_bytes{pipeline}',
  'stage_duration_seconds{pipeline,stage}',
  'jobs_failed_total{pipeline,reason}',
  'orphaned_jobs_total{}',
  'items_resubmitted_total{pipeline}',
  'result_anomalies_total{pipeline,kind}',
  'rebalances_total{pipeline}',
  'claims_total{pipeline,outcome}',
  'shards_owned{pipeline}',
  'shards_paused{pipeline,reason}',
  'control{pipeline,state}',
  'transactions_total{pipeline,outcome}',
  'transaction_duration_seconds{pipeline}',
  'http_requests_total{operation,code}',
  'http_retries_total{operation,reason}',
  'http_request_duration_seconds{operation}',
  'schema_registry_requests_total{operation,code}',
  'schema_registry_request_duration_seconds{operation}',
  'memory_budget_bytes{}',
  'memory_used_bytes{}',
  'kafka_tls_certificate_expiry_timestamp_seconds{certificate}',
  'log_lines_dropped_total{}',
  'loops{state}',
  'ready{condition}',
  'build_info{version,node}',
];

test('no published metric is gone or has other labels: that would break what users built on it', () => {
  const known = new Set(
    Object.entries<MetricDefinition>(METRICS).map(
      ([name, { labels }]) => `${name}{${labels.join(',')}}`,
    ),
  );
  assert.deepEqual(
    PUBLISHED.filter((metric) => !known.has(metric)),
    [],
  );
});

test('every metric of the list is published: add it above', () => {
  const all = Object.entries<MetricDefinition>(METRICS).map(
    ([name, { labels }]) => `${name}{${labels.join(',')}}`,
  );
  assert.deepEqual(
    all.filter((metric) => !PUBLISHED.includes(metric)),
    [],
  );
});

test('every metric that the code counts is in the list, and every one of the list is counted', () => {
  const counted = new Set<string>();
  for (const file of globSync('**/*.ts', { cwd: SRC })) {
    const text = readFileSync(`${SRC}/${file}`, 'utf8');
    for (const [, name = ''] of text.matchAll(
      /(?:(?:[mM]etrics\??|report)\.(?:count|set|observe|remove)|#book|#?\boldest|this\.set)\(\s*'([a-z0-9_]+)'[,)]/g,
    ))
      counted.add(name);
  }
  assert.deepEqual([...counted].toSorted(), Object.keys(METRICS).toSorted());
});

test('a scrape of a process with 200 shards has as many series as one with two', async () => {
  const series = async (shards: number) => {
    const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
    const health = new Health({ stuckAfterMs: 60_000 });
    for (let shard = 0; shard < shards; shard++) health.beat(`reviews/shard-${shard}`);
    health.ready('reviews/kafka');
    health.publish(metrics);
    for (const [name, { kind, labels }] of Object.entries<MetricDefinition>(METRICS)) {
      const values = Object.fromEntries(labels.map((label) => [label, 'x']));
      if (kind === 'counter') metrics.count(name, values);
      else if (kind === 'gauge') metrics.set(name, values, 1);
      else metrics.observe(name, values, 1);
    }
    return (await metrics.render())
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#')).length;
  };
  assert.equal(await series(200), await series(2));
  assert.ok(
    !Object.values<MetricDefinition>(METRICS).some(({ labels }) =>
      /shard|partition|topic/.test(labels.join()),
    ),
  );
});
