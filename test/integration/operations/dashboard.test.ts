/** A connector at work, seen by a real Prometheus: what it serves is clean, and no panel of the dashboard stays empty. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { RULES_FILE } from '../../../dev/alerts/rules.ts';
import { dashboard } from '../../../dev/dashboard/dashboard.ts';
import { withoutZero } from '../../../dev/dashboard/queries.ts';
import { execute } from '../../../dev/helm/execute.ts';
import { METRICS, type MetricDefinition } from '../../../src/telemetry/metric-list.ts';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { ensurePrometheus } from '../../support/prometheus/install.ts';
import { startPrometheus } from '../../support/prometheus/server.ts';
import { startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTITIONS = 2;
/** A second between scrapes, so that these hold several. */
const RANGES: Readonly<Record<string, string>> = {
  $__rate_interval: '20s',
  $__range: '1m',
  $job: '.*',
  $instance: '.*',
  $pipeline: '.*',
};
/**
 * Panels without data for this connector, which has no TLS to Kafka.
 * test/unit/structure/runbook.test.ts looks at names and labels.
 */
const WITHOUT_DATA = ['Certificates'];
/** Metric types of prom-client's Node metrics that Prometheus warns about. */
const DISLIKED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

const kafka = await testKafka();
const directory = temporaryDirectory();
const { promtool } = await ensurePrometheus();

const stack = await startStack(kafka, directory, {
  partitions: PARTITIONS,
  pipeline: {
    source: { filter: "type != 'noise'" },
    batch: { maxRows: 20, maxAge: '200ms' },
    // A wait for the key is at least half of it, which a scrape meets.
    review: { poll: '200ms', pause: '4s' },
  },
  config: { service: { timeout: '1s' } },
  policy: {
    // A scrape meets each batch.
    timing: { reviewTime: '1200ms' },
    faults: [
      { operation: 'create_batch', action: 'answer', status: 503 },
      // Of both shards: one that gets through ends the wait of the other.
      { operation: 'create_batch', action: 'answer', status: 401, skip: 3, times: 3 },
      { operation: 'review', action: 'batch_error', skip: 1 },
      { operation: 'review', action: 'rows', skip: 3, duplicated: 1 },
    ],
  },
});
after(() => stack.stop());
const replica = await stack.startReplica();
const { host } = new URL(await replica.url());
/** Those of the product do not fire while it works. */
const firing = path.join(directory, 'firing.yaml');
const rule = { alert: 'ContentReviewOfThisTest', expr: 'content_review_shards_owned > 0' };
writeFileSync(firing, JSON.stringify({ groups: [{ name: 'firing', rules: [rule] }] }));
const prometheus = await startPrometheus({
  directory: path.join(directory, 'prometheus'),
  target: host,
  job: 'content-review-connector',
  rules: [fileURLToPath(RULES_FILE), firing],
});
after(() => prometheus.stop());

describe('a Prometheus that scrapes a connector', () => {
  let sent = 0;

  /** Events, one of them poison and one of them passed over. */
  async function send(events: number): Promise<void> {
    const value = (n: number) =>
      n === 0
        ? 'not json'
        : JSON.stringify({
            type: n === 1 ? 'noise' : 'post',
            content: `text ${n}`,
            expected_result: n % 4 === 0 ? 'rejected' : 'approved',
          });
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
        const ends = ['decisions', 'dead_lettered', 'events_skipped'].map(
          (name) => `sum(content_review_${name}_total)`,
        );
        const [sample] = await prometheus.query(ends.join(' + '));
        return sample?.value === sent;
      },
      { deadlineMs: 40_000 },
    );

  it('finds data for every expression of the dashboard', async () => {
    // What was before its first scrape it does not know.
    await eventually('it scrapes', async () => (await prometheus.query('up == 1')).length === 1);
    await send(100);
    await settled();
    await send(20);
    stack.sandbox.kill('SIGSTOP');
    await eventually(
      'the service does not answer, and the connector is not ready',
      async () => (await prometheus.query('content_review_ready == 0')).length > 0,
    );
    stack.sandbox.kill('SIGCONT');
    await settled();
    let empty = expressions();
    await eventually(
      'each expression of the dashboard gives a number',
      async () => {
        // Rates are of what goes on.
        await send(20);
        await settled();
        const answers = await Promise.all(
          empty.map(async ({ expr }) =>
            (await prometheus.query(expr)).some(({ value }) => Number.isFinite(value)),
          ),
        );
        empty = empty.filter((_, at) => !answers[at]);
        return empty.length === 0;
      },
      { deadlineMs: 60_000 },
    ).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(empty, null, 2)}`);
    });
  });

  it('reads types and help texts, and promtool accepts the names', async () => {
    assert.deepEqual(await prometheus.metadata('content_review_event_to_decision_seconds'), [
      { type: 'histogram', unit: '', help: METRICS.event_to_decision_seconds.help },
    ]);
    const text = await (await fetch(`${await replica.url()}/metrics`)).text();
    const file = path.join(directory, 'metrics.txt');
    writeFileSync(file, text);
    const { stdout, stderr } = await execute('sh', [
      '-c',
      '"$1" check metrics < "$2" 2>&1 || true',
      'sh',
      promtool,
      file,
    ]);
    const complaints = (stdout + stderr).split('\n').filter((line) => line !== '');
    assert.deepEqual(
      complaints.filter((line) => !DISLIKED.some((name) => line.startsWith(name))),
      [],
    );
  });

  it('finds every metric of the list that such a pipeline has', async () => {
    /** Without a schema registry, TLS and tracing there are none. */
    const absent = ['schema_registry', 'kafka_tls', 'trace_'];
    let missing = Object.entries<MetricDefinition>(METRICS)
      .map(([name, { kind }]) => `content_review_${name}${kind === 'histogram' ? '_count' : ''}`)
      .filter((name) => !absent.some((part) => name.includes(part)));
    await eventually(
      'every metric was scraped',
      async () => {
        // Some are there only while a batch is under way, which a scrape has to meet.
        await send(20);
        await settled();
        const series = await prometheus.query(
          'last_over_time({job="content-review-connector"}[10m])',
        );
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

/**
 * Returns expressions that must yield a number; those in `orZero` without their default, over the
 * last minute.
 */
function expressions(): { readonly panel: string; readonly expr: string }[] {
  return targets().flatMap(({ panel, expr }) => {
    const inner = withoutZero(expr);
    if (inner === undefined || WITHOUT_DATA.includes(panel)) return [{ panel, expr: valued(expr) }];
    // This test has no last week.
    return [
      { panel, expr: `last_over_time((${valued(inner).replaceAll(' offset 1w', '')})[1m:1s])` },
    ];
  });
}

function targets(): { readonly panel: string; readonly expr: string }[] {
  return (dashboard().panels ?? []).flatMap((panel) => {
    const { title = '', targets = [] } = panel as { title?: string; targets?: { expr: string }[] };
    return targets.map(({ expr }) => ({ panel: title, expr }));
  });
}

function valued(expr: string, chosen: Readonly<Record<string, string>> = {}): string {
  return Object.entries({ ...RANGES, ...chosen }).reduce(
    (text, [name, value]) => text.replaceAll(name, value),
    expr,
  );
}
