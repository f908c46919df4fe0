import { LABELS, METRICS, type MetricDefinition } from '../../src/telemetry/metric-list.ts';
import { METRIC_PREFIX } from '../../src/telemetry/metrics.ts';
import { table } from './markdown.ts';

/** Renders docs/metrics.md from the metric list of the code. */
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

Generated from \`src/telemetry/metric-list.ts\` by \`npm run generate\`; do not edit.

\`/metrics\` on \`http.host:http.port\` (default 127.0.0.1:9464) serves these metrics, and Node's own under their usual names
(\`process_*\`, \`nodejs_*\`). Units are seconds and bytes. A series with labels appears when it gets its first value.

${table(['Name', 'Kind', 'Labels', 'Meaning'], rows)}

## Labels

No label value comes from content, remote ids or error messages.

${table(['Label', 'Values'], labels)}

## Buckets of the histograms

${table(['Name', 'Upper bounds'], buckets)}

## Names are an API

Users' dashboards and alerts depend on these names and labels. Any version may add metrics and label values, or change help texts.
Removing or renaming a metric, or changing its labels, is a breaking change noted in CHANGELOG.md. A pipeline's counters whose label
values are known in advance start at 0, so that \`increase()\` includes the first event.

The number of series does not depend on the number of shards: no label identifies a shard, a partition, a topic or an item. The number of
label values that come from outside is limited.

## Format

Metrics are in the Prometheus text format. \`promtool check metrics\` accepts the connector's own metrics, but reports three of Node's,
which are gauges despite their names (\`nodejs_active_…_total\`).
`;
}
