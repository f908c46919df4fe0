import { LABELS, METRICS, type MetricDefinition } from '../../src/telemetry/metrics/metric-list.ts';
import { METRIC_PREFIX } from '../../src/telemetry/metrics/metrics.ts';
import { ALERTS } from '../alerts/rules.ts';
import { table } from './markdown.ts';

/** Defaults of the options. */
const RESULTS = 20;
const TYPES = 20;
/** Series of a histogram beside its buckets: +Inf, sum and count. */
const BESIDE_BUCKETS = 3;
const SERIES_PER_TYPE = Object.values<MetricDefinition>(METRICS)
  .filter(({ labels }) => labels.includes('type'))
  .reduce((sum, { labels, buckets }) => {
    const ofStatus = labels.includes('status') ? 2 : 1;
    return sum + (buckets === undefined ? ofStatus : buckets.length + BESIDE_BUCKETS);
  }, 0);

/** Returns docs/metrics.md, made from the metric list of the code. */
export function metricsPage(): string {
  const metrics = Object.entries<MetricDefinition>(METRICS);
  const rows = metrics.map(([name, metric]) => [
    `\`${METRIC_PREFIX}${name}\``,
    metric.kind,
    metric.labels.map((label) => `\`${label}\``).join(', '),
    metric.help,
  ]);
  const buckets = metrics.flatMap(([name, { buckets: bounds }]) =>
    bounds ? [[`\`${name}\``, bounds.join(', ')]] : [],
  );
  const labels = Object.entries(LABELS).map(([name, help]) => [`\`${name}\``, help]);
  return `# Metrics

Generated from \`src/telemetry/metrics/metric-list.ts\` by \`npm run generate\`; do not edit.

\`/metrics\` on \`http.host:http.port\` (default 127.0.0.1:9464) serves these metrics, and Node's own under their usual names
(\`process_*\`, \`nodejs_*\`). Units are seconds and bytes. A series with labels appears with its first value.

${table(['Name', 'Kind', 'Labels', 'Meaning'], rows)}

## Labels

No label takes values from content, remote ids or error messages.

${table(['Label', 'Values'], labels)}

## Buckets of the histograms

${table(['Name', 'Upper bounds'], buckets)}

## Names are an API

Dashboards and alerts of users depend on these names and labels. Any version may add metrics; removing or renaming one, or changing its
labels, is a breaking change noted in CHANGELOG.md, and a test holds the list. Label values may be added, and help texts may change. Counters
of a pipeline whose label values are known beforehand start at 0, so that \`increase()\` sees the first event.

The number of series does not depend on the number of shards: no label names a shard, a partition, a topic or an item. Labels whose
values others choose are limited by number. At most, per pipeline and instance:

| Metrics | Series | With the default |
|---|---|---|
| \`decision_results_total\` | \`maxResults\` + 1 | ${RESULTS + 1} |
| \`decisions_evaluated_total\` | (\`maxResults\` + 1)² + 1 | ${(RESULTS + 1) ** 2 + 1} |
| \`type_*\` | ${SERIES_PER_TYPE} × (\`maxTypes\` + 1) + 3 | ${SERIES_PER_TYPE * (TYPES + 1) + 3} |

## By content type

The metrics \`type_*\` split lateness, backlog, rows, decisions and dead letters by content type; the same metrics without \`type_\` count all
types at once ([ADR 0031](adr/0031-metrics-by-content-type-are-a-family.md)). They are counted once per batch or transaction. \`metrics.maxTypes\`
limits the types, and 0 turns these metrics off. The dashboard has a row for them. An alert for a type with an objective of its own, 99 %
within 15 minutes:

\`\`\`
1 - sum by (pipeline) (rate(content_review_type_event_to_decision_seconds_bucket{type="live",le=~"900([.]0)?"}[1h]))
  / sum by (pipeline) (rate(content_review_type_event_to_decision_seconds_count{type="live"}[1h])) > 0.01
\`\`\`

## Format

Metrics are in the Prometheus text format, or in OpenMetrics for scrapers that prefer it, as Prometheus does. In OpenMetrics, buckets of
\`event_to_decision_seconds\` have the trace of a batch as exemplar ([tracing](tracing.md#from-metrics-to-traces)). \`promtool check metrics\` accepts the connector's own; of Node's (prom-client) it reports
\`nodejs_active_handles_total\`, \`nodejs_active_requests_total\` and \`nodejs_active_resources_total\`, which are gauges.

## What to alert on

The rules in [alerts.yaml](../helm/content-review-connector/files/alerts.yaml), each with a page in the [runbook](runbook/README.md):

${table(
  ['Alert', 'Severity', 'Means'],
  ALERTS.map(({ name, severity, description }) => [
    `[${name}](runbook/${name}.md)`,
    severity,
    meaningOf(description),
  ]),
)}

\`/livez\` returns 503 only for a stuck loop: an outage of the broker or the service never makes the platform restart the connector.
`;
}

/** Replaces current values by a general word. */
function meaningOf(description: string): string {
  const text = description.replace(/\{\{ \$value[^}]*\}\}/g, 'some');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
