/** Asks the failure table (failure-table.ts) under the policy of a pipeline: the only place that decides about failures. */

import type { JobRecord } from '../journal/job.ts';
import type { JobFailure, JobRule, Reaction, ServiceCall } from './failure-row.ts';
import { FAILURE_TABLE } from './failure-table.ts';
import type { ServiceFailure } from './service-error.ts';

export interface RetryPolicy {
  /** How often the same records are submitted as one batch before it is halved. */
  readonly attempts: number;
  /** Batches that may be submitted for one job in all, halves included. */
  readonly maxRetryBatches: number;
  /** What becomes of records that nothing more is tried for. */
  readonly onFailure: 'error' | 'dead-letter';
}

export type FailureAction =
  /** Submit what is left again, as one batch. */
  | 'retry'
  /** Submit it as two batches, to find the record that the service cannot take. */
  | 'bisect'
  /** Publish a decision with status ERROR for each record that is left. */
  | 'error'
  /** By policy instead: a dead letter for each, with the original. */
  | 'dead_letter';

/** Reactions that a call can meet; a row that gives it another is a mistake that the table's test finds. */
export interface ReactionOf {
  readonly create: Extract<Reaction, { do: 'wait' | 'reject_type' }>;
  readonly upload: Extract<Reaction, { do: 'wait' | 'fail' }>;
  readonly status: Extract<Reaction, { do: 'wait' }>;
  readonly results: Extract<Reaction, { do: 'download_again' }>;
}

const REACTIONS = new Map<string, Reaction>();
const JOB_RULES = new Map<JobFailure, JobRule>();
for (const { calls = {}, reaction, job } of FAILURE_TABLE) {
  for (const [call, failures] of Object.entries(calls)) {
    for (const failure of failures)
      if (reaction !== undefined) REACTIONS.set(`${call} ${failure}`, reaction);
  }
  if (job !== undefined) JOB_RULES.set(job.failure, job);
}

/** What to do about a call that failed, the client's own retries included. */
export function reactionTo<Call extends ServiceCall>(
  call: Call,
  failure: ServiceFailure,
): ReactionOf[Call] {
  const reaction = REACTIONS.get(`${call} ${failure}`);
  if (reaction === undefined)
    throw new Error(`the failure table has no row for ${call} that is ${failure}`);
  return reaction as ReactionOf[Call];
}

/** What the table says about batches that failed so. */
export function jobRule(failure: JobFailure): JobRule {
  const rule = JOB_RULES.get(failure);
  if (rule === undefined) throw new Error(`the failure table has no row for ${failure}`);
  return rule;
}

/**
 * What becomes of the records of a failed batch.
 * @param left how many records of the job are unsettled
 * @param spent batches submitted so far in the job's line
 */
export function decide(
  failure: JobFailure,
  job: Pick<JobRecord, 'attempt' | 'depth'>,
  left: number,
  spent: number,
  policy: RetryPolicy,
): FailureAction {
  const { again, halved } = jobRule(failure);
  // Rows that failed alone come here only while their own limit (errorRowAttempts) lets them.
  if (again === 'always') return 'retry';
  if (again === 'attempts' && job.depth === 0 && job.attempt < policy.attempts) return 'retry';
  if (halved && left > 1 && spent + 2 <= policy.maxRetryBatches) return 'bisect';
  return policy.onFailure === 'error' ? 'error' : 'dead_letter';
}
