/** Alerts on delivery: records that come in go out in time. */
import { expr, type Group, minutesAbove0, PIPELINE, waited } from './alert.ts';
import { OBJECTIVE_SECONDS } from './objective.ts';

/** No state but these has a bound of its own; reviews may take a day, and `review.maxReviewTime` watches over them. */
const BATCH_STATE_SECONDS = {
  uploading: 1_800,
  settling: 1_800,
  retrying: 7_200,
  reviewing: 21_600,
} as const;

/** Records that ended, within the window. */
const ended = (window: string) =>
  expr`sum by (${PIPELINE}) (increase(content_review_decisions_total[${window}]))
    + sum by (${PIPELINE}) (increase(content_review_dead_lettered_total[${window}]))`;

const inFlight = `sum by (${PIPELINE}) (content_review_items_in_flight)`;

const events = (window: string) =>
  `sum by (${PIPELINE}) (increase(content_review_events_consumed_total[${window}]))`;

/** Share of the decisions of a type that may be late: ten times that of all types. */
const TYPE_LATE = 0.1;
const TYPE_MIN_DECISIONS = 100;
const ofType = (ending: string, window: string) =>
  `sum by (${PIPELINE}, type) (increase(content_review_type_event_to_decision_seconds_${ending}[${window}]))`;
const typeLate = (window: string) =>
  `1 - ${ofType(`bucket{le=~"${OBJECTIVE_SECONDS}([.]0)?"}`, window)} / (${ofType('count', window)} > 0)`;

export const delivery: Group = {
  name: 'content-review-delivery',
  rules: [
    {
      name: 'ContentReviewStalled',
      severity: 'critical',
      // Not only now: a pipeline that was idle for the hour has not stalled when events come again.
      expr: expr`
        ${inFlight} > 0 and on (${PIPELINE}) ${minutesAbove0(inFlight, 60)} > 54
        unless on (${PIPELINE}) (${ended('1h')} > 0)`,
      for: '5m',
      summary:
        'Pipeline {{ $labels.pipeline }} has published nothing for an hour, with {{ $value }} events in flight',
      description:
        'Events have been in flight for the whole hour without any decision or dead letter.',
    },
    {
      name: 'ContentReviewTypeLate',
      severity: 'warning',
      // The short window says that it goes on.
      expr: expr`
        (${typeLate('1h')}) > ${TYPE_LATE} and on (${PIPELINE}, type) (${typeLate('10m')}) > ${TYPE_LATE}
        and on (${PIPELINE}, type) ${ofType('count', '1h')} > ${TYPE_MIN_DECISIONS}`,
      for: '15m',
      summary:
        'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of decisions about {{ $labels.type }} are too late',
      description: `More than ${100 * TYPE_LATE} % of the decisions about one content type were published later than ${OBJECTIVE_SECONDS / 3_600} h after the oldest event of their batch. Other types may hide it from the objective.`,
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
      expr: expr`sum by (${PIPELINE}) (last_over_time(content_review_consumer_lag[5m])) > 0 unless on (${PIPELINE}) (${events('15m')} > 0)`,
      for: '15m',
      summary: 'Pipeline {{ $labels.pipeline }} reads nothing, with {{ $value }} events waiting',
      description: 'There are events to read, but none has been read for 15 minutes.',
    },
    {
      name: 'ContentReviewIntakePaused',
      severity: 'warning',
      expr: waited('memory|work_memory|in_flight', { minutes: 27, of: 30 }),
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
