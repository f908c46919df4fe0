/** The other side: the Content Review Service and its storage, and what it answers. */
import { expr, type Group, PIPELINE, waited } from './alert.ts';

const INSTANCES = 'namespace, job';
/** 5xx, too much, and every reason for no answer at all. */
const FAILED = 'code!~"2..|3..|40[0-79]|41.|42[0-8]|43."';

/** Share of the requests of each operation that failed, within the window. @param of whose requests: labels */
const failed = (window: string, of: string) => expr`
  sum by (${of}, operation) (rate(content_review_http_requests_total{${FAILED}}[${window}]))
  / sum by (${of}, operation) (rate(content_review_http_requests_total[${window}]))`;

/** Decisions within the window that the mix is taken of. */
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
      name: 'ContentReviewServiceErrors',
      severity: 'warning',
      expr: `${failed('10m', INSTANCES)} > 0.2`,
      for: '10m',
      summary: '{{ $value | humanizePercentage }} of {{ $labels.operation }} requests fail',
      description:
        'The service or its storage returns 5xx or 429, or does not respond. The connector retries indefinitely.',
    },
    {
      name: 'ContentReviewServiceUnavailable',
      severity: 'critical',
      // Failures tell an outage from slow answers, for which work waits too. They are what must last: in an outage the waits between tries are
      // a third of the time of a lone shard, and a scrape may miss them. Of one instance, as are the waits: one that is cut off makes few
      // requests, which are lost among those of the others. Calls to the storage wait as transfers while they are tried again.
      expr: expr`
        max by (${PIPELINE}, reason) (max_over_time(content_review_shards_paused{reason=~"service|transfer"}[10m])) > 0
        and on (${INSTANCES}) max by (${INSTANCES}) (${failed('5m', `${INSTANCES}, instance`)}) > 0.5`,
      for: '10m',
      summary: 'Pipeline {{ $labels.pipeline }} waits for the service or its storage',
      description:
        'On an instance most calls of an operation have failed for ten minutes or more, and work waits. Nothing is lost; decisions are late.',
    },
    {
      name: 'ContentReviewUnauthorized',
      severity: 'critical',
      expr: waited('unauthorized', { minutes: 4, of: 6 }),
      for: '1m',
      summary: 'Pipeline {{ $labels.pipeline }}: the service refuses the API key',
      description:
        'The service has returned 401 or 403 for minutes. Work stops until it accepts the key.',
    },
    {
      name: 'ContentReviewTypePaused',
      severity: 'warning',
      expr: waited('type_blocked', { minutes: 11, of: 15 }),
      for: '4m',
      summary: 'Pipeline {{ $labels.pipeline }}: a content type is blocked',
      description:
        'The service refuses a type, or batches of it keep failing. Its events wait; other types continue until `in_flight`.',
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
      name: 'ContentReviewResubmissions',
      severity: 'warning',
      expr: expr`
        sum by (${PIPELINE}) (increase(content_review_items_resubmitted_total[1h]))
        / (sum by (${PIPELINE}) (increase(content_review_events_consumed_total[1h])) > 100) > 0.1`,
      for: '15m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of events are submitted again',
      description:
        'Batches fail and are submitted again. Decisions are still published exactly once; the service does double work.',
    },
    {
      name: 'ContentReviewOrphanedBatches',
      severity: 'warning',
      expr: `sum by (${INSTANCES}) (increase(content_review_orphaned_jobs_total[1h])) > 10`,
      for: '5m',
      summary: '{{ $value | humanize }} creations with an unclear outcome within an hour',
      description:
        'The service may have batches whose ids are unknown. Nothing was uploaded to them.',
    },
    {
      name: 'ContentReviewDecisionMixShift',
      severity: 'warning',
      // A result that was not there a week ago, or is not there now, counts as a share of 0.
      expr: expr`
        (abs(${MIX} - (${MIX} offset 1w or ${MIX} * 0)) > 0.2 or (${MIX} offset 1w > 0.2 unless ${MIX}))
        and on (${PIPELINE}) ${decided('')} > ${MIX_MIN_DECISIONS}
        and on (${PIPELINE}) ${decided(' offset 1w')} > ${MIX_MIN_DECISIONS}`,
      for: '30m',
      summary:
        'Pipeline {{ $labels.pipeline }}: the share of {{ $labels.result }} differs by {{ $value | humanizePercentage }} from a week ago',
      description:
        'Content, policy or service have changed: the last six hours are compared with the same hours a week ago.',
    },
    {
      name: 'ContentReviewSchemaRegistryUnavailable',
      severity: 'critical',
      expr: waited('schema_registry', { minutes: 4, of: 6 }),
      for: '1m',
      summary: 'Pipeline {{ $labels.pipeline }} waits for the schema registry',
      description:
        'Events with uncached schemas cannot be decoded. Nothing is lost; the requests are retried.',
    },
  ],
};
