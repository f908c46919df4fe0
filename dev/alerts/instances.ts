/** The processes themselves, and their group. */
import { expr, type Group, PIPELINE } from './alert.ts';

export const instances: Group = {
  name: 'content-review-instances',
  rules: [
    {
      name: 'ContentReviewAbsent',
      severity: 'critical',
      expr: 'absent(content_review_build_info)',
      for: '10m',
      // The chart asks for the job of its release.
      summary: 'No connector is scraped{{ with $labels.job }} by job {{ . }}{{ end }}',
      description: 'Prometheus has no metrics of a connector: none runs, or none is discovered.',
    },
    {
      name: 'ContentReviewInstanceDown',
      severity: 'warning',
      // What `up` is asked of: whatever was a connector within the day.
      expr: 'up == 0 and on (job, instance) last_over_time(content_review_build_info[1d])',
      for: '5m',
      summary: '{{ $labels.instance }} does not respond',
      description: 'A known connector cannot be scraped. Others take over its shards.',
    },
    {
      name: 'ContentReviewNotReady',
      severity: 'critical',
      expr: 'min by (namespace, job, instance, condition) (content_review_ready) == 0',
      for: '10m',
      summary: '{{ $labels.instance }} is not ready: {{ $labels.condition }}',
      description: 'A condition of /readyz has been unmet for ten minutes; /readyz has the reason.',
    },
    {
      name: 'ContentReviewKafkaSilent',
      severity: 'critical',
      expr: 'min by (namespace, job, instance) (content_review_kafka_silent_seconds) > 60',
      for: '4m',
      summary:
        '{{ $labels.instance }}: no Kafka broker has responded for {{ $value | humanizeDuration }}',
      description: 'Nothing is read or published. Lag is unknown, and its metric absent.',
    },
    {
      name: 'ContentReviewLoopStuck',
      severity: 'critical',
      expr: 'max by (namespace, job, instance) (content_review_loops{state="stuck"}) > 0',
      for: '2m',
      summary: '{{ $labels.instance }}: {{ $value }} loops are stuck',
      description:
        'A worker neither makes progress nor reports a wait; /livez names it and returns 503.',
    },
    {
      name: 'ContentReviewNoShards',
      severity: 'critical',
      expr: `sum by (${PIPELINE}) (content_review_shards_owned) == 0`,
      for: '10m',
      summary: 'Pipeline {{ $labels.pipeline }}: no shard has an owner',
      description: 'Instances run, but none works for this pipeline.',
    },
    {
      name: 'ContentReviewRebalanceLoop',
      severity: 'warning',
      expr: `max by (${PIPELINE}) (increase(content_review_rebalances_total[15m])) > 10`,
      // A rolling upgrade makes two for each replica, of as many replicas as there are shards: it is told by its end.
      for: '1h',
      summary: 'Pipeline {{ $labels.pipeline }}: the group keeps rebalancing',
      description:
        'For more than an hour, an instance has joined more than ten generations in each 15 minutes. Each costs seconds of every shard.',
    },
    {
      name: 'ContentReviewTransactionsFail',
      severity: 'warning',
      expr: expr`
        sum by (${PIPELINE}) (rate(content_review_transactions_total{outcome!="committed"}[15m]))
        / sum by (${PIPELINE}) (rate(content_review_transactions_total[15m])) > 0.1`,
      for: '15m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of Kafka transactions fail',
      description:
        'Each failure makes its shard claim again. Nothing is published twice; decisions are late.',
    },
    {
      name: 'ContentReviewKafkaCertificateExpires',
      severity: 'warning',
      expr: expr`min by (namespace, job, certificate)
        (content_review_kafka_tls_certificate_expiry_timestamp_seconds) - time() < 14 * 86400`,
      for: '1h',
      summary:
        'The {{ $labels.certificate }} certificate of Kafka expires in {{ $value | humanizeDuration }}',
      description: 'After that connections to Kafka fail.',
    },
    {
      name: 'ContentReviewLogLinesDropped',
      severity: 'warning',
      expr: 'sum by (namespace, job, instance) (increase(content_review_log_lines_dropped_total[15m])) > 0',
      for: '0m',
      summary: '{{ $labels.instance }} has dropped {{ $value | humanize }} log lines',
      description: 'Standard output is not read fast enough. Work continues; the log has gaps.',
    },
  ],
};
