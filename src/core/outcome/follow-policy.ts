/**
 * Rules for following a live job at the service: the next step for each response. Pure functions.
 * Callers pass in times in ms on the monotonic clock.
 *
 *   pending, unknown      wait; late jobs fail if `onTimeout` is `error`
 *   waiting_for_upload    wait until the grace period for uploads ends, then fail
 *   missing               wait until the grace period for lost batches ends, then fail
 *   finished              settle
 *   failed, cancelled     fail
 *   none (no response)    wait without a limit, because the service's decision is unknown
 */
import type { JobFailure } from './failure-table.ts';

/** State of a job at the service. */
export type RemoteState =
  | 'waiting_for_upload'
  | 'pending'
  /** The results are ready. */
  | 'finished'
  | 'failed'
  | 'cancelled'
  /** The service has no batch with this id (404, 410). */
  | 'missing'
  /** A state that this version does not define. Treated as pending, and logged once. */
  | 'unknown';

export interface FollowRules {
  readonly maxReviewTimeMs: number;
  readonly onTimeout: 'wait' | 'error';
  /** Maximum time for which a batch may be unknown to the service (404, 410). */
  readonly graceMs: number;
}

export interface FollowState {
  readonly createdMs: number;
  /** End of the grace period for the upload. */
  readonly uploadUntilMs: number;
  /** State in the service's last response, and the time since which the job has been in it. */
  readonly remote: RemoteState | undefined;
  readonly sinceMs: number;
}

export interface Wait {
  readonly do: 'wait';
  /** True if the review has exceeded its maximum time. */
  readonly overdue: boolean;
}

export interface Settle {
  readonly do: 'settle';
  /** True if records without a decision fail now because their time limit has passed. */
  readonly isLast: boolean;
}

export interface Fail {
  readonly do: 'fail';
  readonly as: JobFailure;
}

export type FollowStep = Wait | Settle | Fail;

const fail = (as: JobFailure): Fail => ({ do: 'fail', as });

/** Returns the state after a response of the service. */
export function heard(state: FollowState, remote: RemoteState, nowMs: number): FollowState {
  return remote === state.remote ? state : { ...state, remote, sinceMs: nowMs };
}

/** @param answer `none` if the service did not respond, or responded about only some of the job's records */
export function next(
  state: FollowState,
  answer: RemoteState | 'none',
  nowMs: number,
  rules: FollowRules,
): FollowStep {
  const overdue = nowMs - state.createdMs > rules.maxReviewTimeMs;
  const isLast = overdue && rules.onTimeout === 'error';
  const until = (endMs: number, failure: JobFailure): Wait | Fail =>
    nowMs < endMs ? { do: 'wait', overdue: false } : fail(failure);

  switch (answer) {
    case 'none':
      return { do: 'wait', overdue };
    case 'pending':
    case 'unknown':
      return isLast ? fail('review_timeout') : { do: 'wait', overdue };
    case 'waiting_for_upload':
      return until(state.uploadUntilMs, 'upload_lost');
    case 'missing':
      return until(state.sinceMs + rules.graceMs, 'batch_unknown');
    case 'finished':
      return { do: 'settle', isLast };
    case 'failed':
      return fail('batch_failed');
    case 'cancelled':
      return fail('batch_cancelled');
  }
}
