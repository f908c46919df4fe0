import { LABELS, METRICS, type MetricDefinition } from '../../src/telemetry/metric-list.ts';
import { METRIC_PREFIX } from '../../src/telemetry/metrics.ts';
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
  const buckets = metrics.flatMap(([name, { buckets: bounds }]) => (bounds ? [[`\`${name}\``, bounds.join(', ')]] : []));
  const labels = Object.entries(LABELS).map(([name, help]) => [`\`${name}\``, help]);
  return `# Metrics

Generated from \`src/telemetry/metric-list.ts\` by \`node dev/docs/generate.ts\`; do not edit.

\`/metrics\` on \`http.host:http.port\` (127.0.0.1:9464 unless configured) serves these in the Prometheus text format, and Node's own
metrics under their usual names (\`process_*\`, \`nodejs_*\`). Units are seconds and bytes. A series with labels appears with its first value.

${table(['Name', 'Kind', 'Labels', 'Meaning'], rows)}

## Labels

No label takes values from content, remote ids or error messages.

${table(['Label', 'Values'], labels)}

## Buckets of the histograms

${table(['Name', 'Upper bounds'], buckets)}

## What to alert on

| Expression | Means |
|---|---|
| \`content_review_ready == 0\` for 5 minutes | A condition does not hold; \`/readyz\` says which and why. |
| \`content_review_loops{state="stuck"} > 0\` | A loop neither progresses nor says why it waits; \`/livez\` names it. |
| \`content_review_balance_items != 0\` for 5 minutes | Items are not accounted for. |
| \`increase(content_review_unread_records_lost_total[1h]) > 0\` | Retention removed records before they were read. |
| \`time() - content_review_oldest_unsettled_timestamp_seconds\` above the longest review you accept | Something does not get settled. |
| \`max_over_time(content_review_shards_paused[5m]) > 0\` for 15 minutes | Something waits; the label \`reason\` says why ([operations.md](operations.md)). |
| \`increase(content_review_log_lines_dropped_total[15m]) > 0\` | Nobody reads the log fast enough. |
| \`rate(content_review_dead_lettered_total[15m])\` above its usual level | A producer sends what cannot be reviewed. |

\`/livez\` answers 503 only for a stuck loop: a broker or a service that is down never makes the platform restart the connector.
`;
}
