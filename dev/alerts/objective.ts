/** Objective of each pipeline: the age by which decisions are due, and the share that must be in time. */
import { type Alert, expr, type Group, objectiveOf, PIPELINE, type Recording } from './alert.ts';

const WINDOWS = ['5m', '30m', '1h', '6h', '3d'] as const;
type Window = (typeof WINDOWS)[number];

const BUDGET = 'content_review:late_decisions:budget';
/**
 * Maximum threshold. Without it, a multiple of a large budget could be above 1, and no share of
 * decisions would exceed it.
 */
const MOST = 0.95;

const late = (window: Window) => `content_review:late_decisions:ratio_rate${window}` as const;

/** Returns the share of late decisions that is `times` the budget. */
const budget = (times: number): string => `clamp_max(${times} * ${BUDGET}, ${MOST})`;

/** The connector counts late decisions, because a histogram is exact only at the bounds of its buckets. */
const recordings: readonly Recording[] = [
  ...WINDOWS.map((window) => ({
    record: late(window),
    expr: expr`
      sum by (${PIPELINE}) (rate(content_review_decisions_late_total[${window}]))
      / sum by (${PIPELINE}) (rate(content_review_decisions_total[${window}]))`,
  })),
  { record: BUDGET, expr: `1 - ${objectiveOf('in_time_ratio')}` },
];

/** Holds while a long and a short window exceed `times` the budget. The short one ends the alert soon after the cause. */
function burning(times: number, long: Window, short: Window): string {
  return `(${late(long)} > ${budget(times)} and ${late(short)} > ${budget(times)})`;
}

const alerts: readonly Alert[] = [
  {
    name: 'ContentReviewLateDecisionsFast',
    severity: 'critical',
    expr: `${burning(14.4, '1h', '5m')} or ${burning(6, '6h', '30m')}`,
    for: '2m',
    summary:
      'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of decisions are too late',
    description:
      'The objective of the pipeline (`objective`) will be missed: at this rate the budget of a month is used up within days.',
  },
  {
    name: 'ContentReviewLateDecisionsSlow',
    severity: 'warning',
    expr: burning(1, '3d', '6h'),
    for: '1h',
    summary:
      'Pipeline {{ $labels.pipeline }}: {{ $value | humanizePercentage }} of decisions are too late, for days',
    description:
      'The objective of the pipeline (`objective`) is missed at the rate of the last three days.',
  },
  {
    name: 'ContentReviewEventTooOld',
    severity: 'warning',
    expr: expr`time() - min by (${PIPELINE}, lane) (content_review_lane_oldest_timestamp_seconds)
      > 3 * max by (${PIPELINE}, lane) (last_over_time(content_review_objective_age_seconds[5m]))`,
    for: '10m',
    summary:
      'Pipeline {{ $labels.pipeline }}, lane {{ $labels.lane }}: the oldest event without a decision is {{ $value | humanizeDuration }} old',
    description:
      'An event is older than three times the objective of its lane and not settled. Late decisions affect the objective; missing ones appear only here.',
  },
];

export const objective: Group = {
  name: 'content-review-objective',
  rules: [...recordings, ...alerts],
};
