/** Alerts on the Content Review Service with its storage, its results, and the schema registry. */
import { expr, type Group, PIPELINE, waited } from './alert.ts';

const INSTANCES = 'namespace, job';
/** Matches 408, 429, 5xx, and the codes for a missing response. */
const FAILED = 'code!~"2..|3..|40[0-79]|41.|42[0-8]|43."';

/** Share of failed requests, by service, operation and instance. */
const failed = expr`
  sum by (${INSTANCES}, instance, service, operation) (rate(content_review_http_requests_total{${FAILED}}[5m]))
  / sum by (${INSTANCES}, instance, service, operation) (rate(content_review_http_requests_total[5m]))`;

/** Minimum number of decisions in a window for a comparison of the mix. */
const MIX_MIN_DECISIONS = 500;
const MIX = 'content_review:decision_results:share6h';
const decided = (offset: string) =>
  `sum by (${PIPELINE}) (increase(content_review_decision_results_total[6h]${offset}))`;

export const service: Group = {
  name: 'content-review-service',
  rules: [
    {
      record: MIX,
      expr: expr`sum by (${PIPELINE}, result) (increase(content_review_decision_results_total[6h]))
        / on (${PIPELINE}) group_left () (${decided('')} > 0)`,
    },
    {
      name: 'ContentReviewServiceUnavailable',
      severity: 'critical',
      // Requires failures as well as waits, because work also waits for slow responses. Only the
      // failures must last: in an outage, a single shard waits between attempts for only a third of
      // the time, which a scrape may miss. Failures and waits are counted per instance, because an
      // instance that is cut off makes few requests compared with the other instances. Retried
      // calls to the storage wait with the reason `transfer`.
      expr: expr`
        max by (${PIPELINE}, reason) (max_over_time(content_review_shards_paused{reason=~"service|transfer"}[10m])) > 0
        and on (${PIPELINE}) (content_review_objective_in_time_ratio
          and on (${INSTANCES}, service) ${failed} > 0.5)
        or ${waited('api_key|schema_registry', { minutes: 4, of: 6 })}`,
      for: '10m',
      summary:
        'Pipeline {{ $labels.pipeline }} waits for the service, its storage or the schema registry ({{ $labels.reason }})',
      description:
        'On an instance, most calls of an operation have failed for ten minutes or more, the API key is rejected, or the schema registry is unavailable. Nothing is lost, but decisions are late.',
    },
    {
      name: 'ContentReviewResultAnomalies',
      severity: 'warning',
      expr: expr`
        sum by (${PIPELINE}, kind) (increase(content_review_result_anomalies_total[1h]))
        / on (${PIPELINE}) group_left () (sum by (${PIPELINE}) (increase(content_review_decisions_total[1h])) > 0) > 0.01`,
      for: '10m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} {{ $labels.kind }} result rows',
      description:
        'The service returns rows that do not match the submitted ones. They are counted, never published.',
    },
    {
      name: 'ContentReviewDecisionMixShift',
      severity: 'warning',
      // A result that was missing a week ago, or is missing now, counts as a share of 0.
      expr: expr`
        (abs(${MIX} - (${MIX} offset 1w or ${MIX} * 0)) > 0.2 or (${MIX} offset 1w > 0.2 unless ${MIX}))
        and on (${PIPELINE}) ${decided('')} > ${MIX_MIN_DECISIONS}
        and on (${PIPELINE}) ${decided(' offset 1w')} > ${MIX_MIN_DECISIONS}`,
      for: '30m',
      summary:
        'Pipeline {{ $labels.pipeline }}: the share of {{ $labels.result }} differs by {{ $value | humanizePercentage }} from a week ago',
      description:
        'The content, the policy or the service has changed. The last six hours are compared with the same hours a week ago.',
    },
  ],
};
