/** Alerts on processes and their certificates. */
import { expr, type Group } from './alert.ts';

export const instances: Group = {
  name: 'content-review-instances',
  rules: [
    {
      name: 'ContentReviewAbsent',
      severity: 'critical',
      expr: 'absent(content_review_build_info)',
      for: '10m',
      // The chart adds the job of its release to the expression.
      summary: 'No connector is scraped{{ with $labels.job }} by job {{ . }}{{ end }}',
      description: 'Prometheus has no metrics of a connector: none runs, or none is discovered.',
    },
    {
      name: 'ContentReviewNotReady',
      severity: 'critical',
      // Uses `up` only for targets that exposed a connector's metrics within the last day.
      expr: expr`
        min by (namespace, job, instance, condition) (content_review_ready) == 0
        or max by (namespace, job, instance) (content_review_transactions_stuck) > 0
        or up == 0 and on (job, instance) last_over_time(content_review_build_info[1d])`,
      for: '10m',
      summary:
        '{{ $labels.instance }} {{ with $labels.condition }}is not ready: {{ . }}{{ else }}does not respond, or is stuck{{ end }}',
      description:
        'For ten minutes a condition of /readyz has been unmet, a transaction has been stuck, or the process could not be scraped.',
    },
    {
      name: 'ContentReviewKafkaCertificateExpires',
      severity: 'warning',
      expr: expr`min by (namespace, job, certificate)
        (content_review_kafka_tls_certificate_expiry_timestamp_seconds) - time() < 14 * 86400`,
      for: '1h',
      summary:
        'The {{ $labels.certificate }} certificate of Kafka expires in {{ $value | humanizeDuration }}',
      description: 'Connections to Kafka fail after that.',
    },
  ],
};
