/** A connector at work, seen by a real Prometheus: what it serves is clean, and no panel of the dashboard stays empty. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RULES_FILE } from '../../../dev/alerts/rules.ts';
import { dashboard } from '../../../dev/dashboard/dashboard.ts';
import { execute } from '../../../dev/helm/execute.ts';
import { ensurePrometheus } from '../../../dev/prometheus/install.ts';
import { startPrometheus } from '../../../dev/prometheus/server.ts';
import { METRICS, type MetricDefinition } from '../../../src/telemetry/metric-list.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka.ts';
import { startStack } from '../../support/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 2;
/** A second between scrapes, so that these hold several. */
const RANGES = { $__rate_interval: '20s', $__range: '1m', $job: '.*', $instance: '.*', $pipeline: '.*' };
/** Of Node, by prom-client; ours have none. */
const DISLIKED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

const kafka = await testKafka();
const directory = temporaryDirectory();
const { promtool } = await ensurePrometheus();

const stack = await startStack(kafka, directory, {
  partitions: PARTITIONS,
  pipeline: { batch: { maxRows: 20, maxAge: '200ms' }, review: { poll: { initial: '50ms', max: '200ms' } } },
  policy: {
    faults: [
      { operation: 'create_batch', action: 'answer', status: 503 },
      { operation: 'review', action: 'batch_error', skip: 1 },
      { operation: 'review', action: 'rows', skip: 3, duplicated: 1 },
    ],
  },
});
after(() => stack.stop());
const replica = await stack.startReplica();
const { host } = new URL(await replica.url());
const prometheus = await startPrometheus({
  directory: path.join(directory, 'prometheus'),
  target: host,
  job: 'content-review-connector',
  rules: [fileURLToPath(RULES_FILE)],
});
after(() => prometheus.stop());

describe('a Prometheus that scrapes a connector', () => {
  let sent = 0;

  /** Events, one of them poison. */
  async function send(events: number): Promise<void> {
    const value = (n: number) => (n === 0 ? 'not json' : JSON.stringify({ type: 'post', content: `text ${n}` }));
    await kafka.write(
      stack.topics.source,
      Array.from({ length: events }, (_, n) => ({ partition: n % PARTITIONS, value: value(n) })),
    );
    sent += events;
  }

  const settled = () =>
    eventually(
      `${sent} events are settled, and Prometheus has seen it`,
      async () => {
        const [sample] = await prometheus.query('sum(content_review_decisions_total) + sum(content_review_dead_lettered_total)');
        return sample?.value === sent;
      },
      { deadlineMs: 40_000 },
    );

  it('finds data for every expression of the dashboard', async () => {
    await send(100);
    await settled();
    let empty = expressions();
    await eventually(
      'each expression of the dashboard gives a number',
      async () => {
        // Rates are of what goes on.
        await send(20);
        await settled();
        const answers = await Promise.all(
          empty.map(async ({ expr }) => (await prometheus.query(expr)).some(({ value }) => Number.isFinite(value))),
        );
        empty = empty.filter((_, at) => !answers[at]);
        return empty.length === 0;
      },
      { deadlineMs: 60_000 },
    ).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(empty, null, 2)}`);
    });
  });

  it('reads OpenMetrics, with units, and promtool has nothing to say about the names', async () => {
    assert.deepEqual(await prometheus.metadata('content_review_event_to_decision_seconds'), [
      { type: 'histogram', unit: 'seconds', help: METRICS.event_to_decision_seconds.help },
    ]);
    const text = await (await fetch(`${await replica.url()}/metrics`)).text();
    const file = path.join(directory, 'metrics.txt');
    writeFileSync(file, text);
    const { stdout, stderr } = await execute('sh', ['-c', '"$1" check metrics < "$2" 2>&1 || true', 'sh', promtool, file]);
    const complaints = (stdout + stderr).split('\n').filter((line) => line !== '');
    assert.deepEqual(
      complaints.filter((line) => !DISLIKED.some((name) => line.startsWith(name))),
      [],
    );
  });

  it('finds every metric of the list that such a pipeline has', async () => {
    /** Without a filter, a schema registry, TLS and tracing there are none. */
    const absent = ['events_skipped_total', 'schema_registry', 'kafka_tls', 'trace_'];
    let missing = Object.entries<MetricDefinition>(METRICS)
      .map(([name, { kind }]) => `content_review_${name}${kind === 'histogram' ? '_count' : ''}`)
      .filter((name) => !absent.some((part) => name.includes(part)));
    await eventually(
      'every metric was scraped',
      async () => {
        // Some are there only while a batch is under way, which a scrape has to meet.
        await send(20);
        await settled();
        const series = await prometheus.query('last_over_time({job="content-review-connector"}[10m])');
        const names = new Set(series.map(({ labels }) => labels.__name__));
        missing = missing.filter((name) => !names.has(name));
        return missing.length === 0;
      },
      { deadlineMs: 60_000 },
    ).catch((error) => {
      throw new Error(`${error.message}: ${missing.join(', ')}`);
    });
  });
});

function expressions(): { readonly panel: string; readonly expr: string }[] {
  return (dashboard().panels ?? []).flatMap((panel) => {
    const { title = '', targets = [] } = panel as { title?: string; targets?: { expr: string }[] };
    return targets.map(({ expr }) => ({
      panel: title,
      expr: Object.entries(RANGES).reduce((text, [name, value]) => text.replaceAll(name, value), expr),
    }));
  });
}
