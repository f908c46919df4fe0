import { LABELS, METRICS, type MetricDefinition } from '../../src/telemetry/metrics/metric-list.ts';
import { METRIC_PREFIX } from '../../src/telemetry/metrics/metrics.ts';
import { ALERTS } from '../alerts/rules.ts';
import { table } from './markdown.ts';

/** docs/metrics.md, from the list that the code uses. */
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

Generated from \`src/telemetry/metrics/metric-list.ts\` by \`node dev/docs/generate.ts\`; do not edit.

\`/metrics\` on \`http.host:http.port\` (127.0.0.1:9464 unless configured) serves these in the Prometheus text format, and Node's own
metrics under their usual names (\`process_*\`, \`nodejs_*\`). Units are seconds and bytes. A series with labels appears with its first value.

${table(['Name', 'Kind', 'Labels', 'Meaning'], rows)}

## Labels

No label takes values from content, remote ids or error messages.

${table(['Label', 'Values'], labels)}

## Buckets of the histograms

${table(['Name', 'Upper bounds'], buckets)}

## Names are an API

Dashboards and alerts of users know these names and labels. New ones come with any version; one that goes, is renamed or gets other labels
is a breaking change, said in CHANGELOG.md: a test holds the list. Values of labels may be added, and help texts may change. Labels \`pipeline\`
aside, counters whose values are known beforehand begin at 0, so that \`increase()\` sees the first event.

A process has as many series with 200 shards as with one: no label names a shard, a partition, a topic or an item.

## Formats

The Prometheus text format, or OpenMetrics 1.0 for whoever prefers it (\`Accept: application/openmetrics-text\`, as Prometheus does): the same
samples with the same names and labels, with units for seconds and bytes. \`promtool check metrics\` has nothing to say about
ours; of Node's own (prom-client) it dislikes \`nodejs_active_handles_total\`, \`nodejs_active_requests_total\`, \`nodejs_active_resources_total\`,
which are gauges.

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

\`/livez\` answers 503 only for a stuck loop: a broker or a service that is down never makes the platform restart the connector.
`;
}

/** Values of the moment are told in general. */
function meaningOf(description: string): string {
  const text = description.replace(/\{\{ \$value[^}]*\}\}/g, 'some');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
