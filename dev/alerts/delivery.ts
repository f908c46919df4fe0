/** Alerts on delivery: every record must get its result in time. */
import { expr, type Group, minutesAbove0, objectiveOf, PIPELINE, waited } from './alert.ts';

const deadLetters = (window: string, labels = '') =>
  `sum by (${PIPELINE}) (increase(content_review_dead_lettered_total${labels}[${window}]))`;

/** Records that ended within the window. */
const ended = (window: string) =>
  expr`sum by (${PIPELINE}) (increase(content_review_decisions_total[${window}]))
    + ${deadLetters(window)}`;

const inFlight = `sum by (${PIPELINE}) (content_review_items_in_flight)`;

const events = (window: string) =>
  `sum by (${PIPELINE}) (increase(content_review_events_consumed_total[${window}]))`;

export const delivery: Group = {
  name: 'content-review-delivery',
  rules: [
    {
      name: 'ContentReviewStalled',
      severity: 'critical',
      // The lag is unknown, and therefore absent, for seconds when a shard is claimed. Events must
      // have been in flight for the whole hour, because a pipeline that was idle and has just
      // received events has not stalled. In a pipeline that an operator holds, silence is intended.
      expr: expr`
        (sum by (${PIPELINE}) (last_over_time(content_review_consumer_lag[5m])) > 0
        unless on (${PIPELINE}) (${events('15m')} > 0)
        or ${inFlight} > 0 and on (${PIPELINE}) ${minutesAbove0(inFlight, 60)} > 54
        and on (${PIPELINE}) time() - min by (${PIPELINE}) (content_review_oldest_unsettled_timestamp_seconds) > ${objectiveOf('age_seconds')}
        unless on (${PIPELINE}) (${ended('1h')} > 0))
        unless on (${PIPELINE}) (sum by (${PIPELINE}) (content_review_control) > 0)`,
      for: '15m',
      summary: 'Pipeline {{ $labels.pipeline }} has stalled, with {{ $value }} events waiting',
      description:
        'No waiting event of the source has been read for half an hour; or events older than the objective are in flight, and none has ended for an hour.',
    },
    {
      name: 'ContentReviewPaused',
      severity: 'warning',
      expr: `${waited('type_blocked', { minutes: 11, of: 15 })} or ${waited('paused', { minutes: 230, of: 240 })}`,
      for: '4m',
      summary: 'Pipeline {{ $labels.pipeline }} holds events back ({{ $labels.reason }})',
      description:
        'The service refuses a content type, or its batches keep failing; or an operator paused or drained the pipeline hours ago.',
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
        'These events get neither a decision nor a dead letter, because the source topic no longer contains them.',
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
      name: 'ContentReviewDeadLetters',
      severity: 'warning',
      // Even a single unreadable record counts, because the broker may be losing data.
      expr: expr`
        ${deadLetters('30m')} > 10 and ${deadLetters('30m')} > 0.05 * ${events('30m')}
        or ${deadLetters('1h', '{reason=~"unreadable_batch|too_many_headers"}')} > 0`,
      for: '5m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanize }} events became dead letters',
      description:
        'A producer sends records that cannot be reviewed, records failed permanently at the service, or record batches of the source cannot be read.',
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
