/** The age objective: how old an event may be when its decision is published, and how many may be older. */
import { type Alert, expr, type Group, PIPELINE, type Recording } from './alert.ts';

/** A bucket of `event_to_decision_seconds`. */
export const OBJECTIVE_SECONDS = 3_600;
/** Share of decisions that must be in time. */
export const OBJECTIVE_SHARE = 0.99;

const BUDGET = 1 - OBJECTIVE_SHARE;
const WINDOWS = ['5m', '30m', '1h', '6h', '3d'] as const;
type Window = (typeof WINDOWS)[number];

const late = (window: Window) => `content_review:late_decisions:ratio_rate${window}` as const;

const recordings = WINDOWS.map(
  (window): Recording => ({
    record: late(window),
    // Prometheus 3 writes the bounds of buckets as floats, 2 as it finds them.
    expr: expr`
      1 - sum by (${PIPELINE}) (rate(content_review_event_to_decision_seconds_bucket{le=~"${OBJECTIVE_SECONDS}([.]0)?"}[${window}]))
      / sum by (${PIPELINE}) (rate(content_review_event_to_decision_seconds_count[${window}]))`,
  }),
);

/** Both windows burn the budget of 30 days this many times too fast: the long one says that it matters, the short one that it goes on. */
function burning(times: number, long: Window, short: Window): string {
  const limit = Number((times * BUDGET).toPrecision(3));
  return `(${late(long)} > ${limit} and ${late(short)} > ${limit})`;
}

const OBJECTIVE = `${OBJECTIVE_SHARE * 100} % of decisions within ${OBJECTIVE_SECONDS / 3_600} h of their oldest event`;

const alerts: readonly Alert[] = [
  {
    name: 'ContentReviewLateDecisionsFast',
    severity: 'critical',
    expr: `${burning(14.4, '1h', '5m')} or ${burning(6, '6h', '30m')}`,
    for: '2m',
    summary:
      'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of decisions are too late',
    description: `The objective (${OBJECTIVE}) will be missed: at this rate the budget of a month is used up within days.`,
  },
  {
    name: 'ContentReviewLateDecisionsSlow',
    severity: 'warning',
    expr: burning(1, '3d', '6h'),
    for: '1h',
    summary:
      'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of decisions are too late, for days',
    description: `The objective (${OBJECTIVE}) is missed at the rate of the last three days.`,
  },
  {
    name: 'ContentReviewEventTooOld',
    severity: 'warning',
    expr: expr`time() - min by (${PIPELINE}) (content_review_oldest_unsettled_timestamp_seconds) > ${6 * OBJECTIVE_SECONDS}`,
    for: '10m',
    summary:
      'Pipeline {{ $labels.pipeline }}: the oldest event without a decision is {{ $value | humanizeDuration }} old',
    description:
      'Some events are not settled. Late decisions show in the objective; missing ones show only here.',
  },
];

export const objective: Group = {
  name: 'content-review-objective',
  rules: [...recordings, ...alerts],
};
