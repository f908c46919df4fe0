/** Checks that the list of metrics is complete, and that the number of series is independent of shards. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Health } from '../../../src/telemetry/health.ts';
import { METRICS, type MetricDefinition } from '../../../src/telemetry/metric-list.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

const SRC = fileURLToPath(new URL('../../../src', import.meta.url));

test('the list contains exactly the metrics that the code updates', () => {
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

test('a process with 200 shards exposes as many series as a process with two', async () => {
  const series = async (shards: number) => {
    const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
    const health = new Health();
    for (let shard = 0; shard < shards; shard++)
      health.transaction(`reviews/shard-${shard}`, 60_000);
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
