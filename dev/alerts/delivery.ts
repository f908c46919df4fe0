/** Alerts on delivery: records that come in go out in time. */
import { expr, type Group, minutesAbove0, objectiveOf, PIPELINE, waited } from './alert.ts';

/** Limits of the states. Reviews may take days, which only the objective knows. */
const BATCH_STATE_SECONDS = {
  uploading: '1800',
  settling: '1800',
  retrying: '7200',
  reviewing: `on (${PIPELINE}) group_left () 6 * ${objectiveOf('age_seconds')}`,
} as const;

/** Records that ended, within the window. */
const ended = (window: string) =>
  expr`sum by (${PIPELINE}) (increase(content_review_decisions_total[${window}]))
    + sum by (${PIPELINE}) (increase(content_review_dead_lettered_total[${window}]))`;

const inFlight = `sum by (${PIPELINE}) (content_review_items_in_flight)`;

/** Pipelines that an operator has paused or drained: silence is intended. */
const unlessPaused = `unless on (${PIPELINE}) (sum by (${PIPELINE}) (content_review_control) > 0)`;

const events = (window: string) =>
  `sum by (${PIPELINE}) (increase(content_review_events_consumed_total[${window}]))`;

export const delivery: Group = {
  name: 'content-review-delivery',
  rules: [
    {
      name: 'ContentReviewStalled',
      severity: 'critical',
      // Not only now: a pipeline that was idle for the hour has not stalled when events come again.
      expr: expr`
        ${inFlight} > 0 and on (${PIPELINE}) ${minutesAbove0(inFlight, 60)} > 54
        and on (${PIPELINE}) time() - min by (${PIPELINE}) (content_review_oldest_unsettled_timestamp_seconds) > ${objectiveOf('age_seconds')}
        unless on (${PIPELINE}) (${ended('1h')} > 0)
        ${unlessPaused}`,
      for: '5m',
      summary:
        'Pipeline {{ $labels.pipeline }} has published nothing for an hour, with {{ $value }} events in flight',
      description:
        'Events have been in flight for the whole hour without any decision or dead letter, and the oldest is older than the objective.',
    },
    {
      name: 'ContentReviewBatchStuck',
      severity: 'warning',
      expr: Object.entries(BATCH_STATE_SECONDS)
        .map(
          ([state, seconds]) =>
            expr`time() - min by (${PIPELINE}, state) (content_review_oldest_batch_timestamp_seconds{state="${state}"}) > ${seconds}`,
        )
        .join(' or '),
      for: '10m',
      summary:
        'Pipeline {{ $labels.pipeline }}: a batch {{ $value | humanizeDuration }} old is {{ $labels.state }}',
      description: 'The oldest batch in this state is older than expected.',
    },
    {
      name: 'ContentReviewBalanceBroken',
      severity: 'critical',
      expr: `max by (${PIPELINE}, instance) (abs(content_review_balance_items)) > 0`,
      for: '5m',
      summary:
        'Pipeline {{ $labels.pipeline }} on {{ $labels.instance }}: {{ $value }} items are not accounted for',
      description:
        'Consumed events do not equal those settled, released or in flight: a bug in the connector.',
    },
    {
      name: 'ContentReviewRecordsLost',
      severity: 'critical',
      expr: `sum by (${PIPELINE}) (increase(content_review_unread_records_lost_total[1h])) > 0`,
      for: '0m',
      summary:
        'Pipeline {{ $labels.pipeline }}: retention removed {{ $value | humanize }} events before they were read',
      description:
        'These events get no decision and no dead letter: the source topic no longer has them.',
    },
    {
      name: 'ContentReviewInternalErrors',
      severity: 'warning',
      expr: `sum by (${PIPELINE}, stage) (increase(content_review_internal_errors_total[1h])) > 0`,
      for: '0m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanize }} internal errors of the connector ({{ $labels.stage }})',
      description:
        'The connector failed on records, result rows or responses. Affected records are dead letters with reason internal_error; the others continue.',
    },
    {
      name: 'ContentReviewIntakeStopped',
      severity: 'critical',
      // The lag is absent while it is unknown: for seconds, when a shard is claimed.
      expr: expr`
        sum by (${PIPELINE}) (last_over_time(content_review_consumer_lag[5m])) > 0
        unless on (${PIPELINE}) (${events('15m')} > 0)
        ${unlessPaused}`,
      for: '15m',
      summary: 'Pipeline {{ $labels.pipeline }} reads nothing, with {{ $value }} events waiting',
      description: 'There are events to read, but none has been read for 15 minutes.',
    },
    {
      name: 'ContentReviewPaused',
      severity: 'warning',
      expr: expr`sum by (${PIPELINE}) (content_review_control) > 0`,
      for: '4h',
      summary: 'Pipeline {{ $labels.pipeline }} has been paused or drained for hours',
      description:
        'An operator has paused or drained it, and it is not resumed: its events wait in the source topic.',
    },
    {
      name: 'ContentReviewIntakePaused',
      severity: 'warning',
      expr: waited('memory|in_flight', { minutes: 27, of: 30 }),
      for: '30m',
      summary: 'Pipeline {{ $labels.pipeline }}: intake is paused ({{ $labels.reason }})',
      description:
        'On an instance, shards or partitions have waited for this reason almost continuously for half an hour or more.',
    },
    {
      name: 'ContentReviewDeadLetters',
      severity: 'warning',
      expr: expr`
        sum by (${PIPELINE}) (increase(content_review_dead_lettered_total[30m])) / (${events('30m')} > 0) > 0.05
        and on (${PIPELINE}) sum by (${PIPELINE}) (increase(content_review_dead_lettered_total[30m])) > 10`,
      for: '5m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of events become dead letters',
      description:
        'A producer sends records that cannot be reviewed, or records failed permanently at the service.',
    },
    {
      name: 'ContentReviewUnreadableRecords',
      severity: 'warning',
      expr: `sum by (${PIPELINE}, reason) (increase(content_review_dead_lettered_total{reason=~"unreadable_batch|too_many_headers"}[1h])) > 0`,
      for: '0m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanize }} records cannot be read ({{ $labels.reason }})',
      description:
        'Record batches of the source are corrupt, use an unknown compression or decompress to too much, or records have too many headers. Each record becomes a dead letter with only its coordinates.',
    },
    {
      name: 'ContentReviewErrorDecisions',
      severity: 'warning',
      expr: expr`
        sum by (${PIPELINE}) (increase(content_review_decisions_total{status="ERROR"}[30m]))
        / (sum by (${PIPELINE}) (increase(content_review_decisions_total[30m])) > 10) > 0.1`,
      for: '10m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of decisions have status ERROR',
      description: 'These records were not reviewed: consumers receive status ERROR with a code.',
    },
  ],
};
