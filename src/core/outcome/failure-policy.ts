/**
 * Failure policy: applies the failure table (failure-table.ts) and the options of a pipeline. No
 * other code decides how failures are handled.
 */
import type { ServiceFailure } from '../../../packages/client/src/base/service-error.ts';
import {
  FAILURE_TABLE,
  type JobFailure,
  type JobRule,
  type Reaction,
  type ServiceCall,
} from './failure-table.ts';

export interface RetryPolicy {
  /** Number of times that a batch is submitted before it is halved. */
  readonly attempts: number;
  /** Maximum number of batches for one job, including halves. */
  readonly maxRetryBatches: number;
  /** Outcome of records that are not submitted again. */
  readonly onFailure: 'error' | 'dead-letter';
}

export type FailureAction =
  /** Submit the remaining records again as one batch. */
  | 'retry'
  /** Submit the remaining records as two batches, in order to find the one that the service cannot process. */
  | 'bisect'
  /** Publish a decision with status ERROR for each remaining record. */
  | 'error'
  /** Publish a dead letter with the original for each remaining record. */
  | 'dead_letter';

/** Reactions that the engine implements for each call. A test compares the failure table with them. */
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

/** Returns the reaction to a call that still fails after the client's own retries. */
export function reactionTo<Call extends ServiceCall>(
  call: Call,
  failure: ServiceFailure,
): ReactionOf[Call] {
  const reaction = REACTIONS.get(`${call} ${failure}`);
  if (reaction === undefined)
    throw new Error(`the failure table has no row for the call ${call} with failure ${failure}`);
  return reaction as ReactionOf[Call];
}

/** Returns the handling of batches with this failure. */
export function jobRule(failure: JobFailure): JobRule {
  const rule = JOB_RULES.get(failure);
  if (rule === undefined) throw new Error(`the failure table has no row for ${failure}`);
  return rule;
}

/**
 * Decides what happens to the remaining records of a failed batch.
 * @param left unsettled records of the job
 * @param spent batches submitted so far in the job's line (a first submission and its retries)
 */
export function decide(
  failure: JobFailure,
  job: Readonly<{ attempt: number; depth: number }>,
  left: number,
  spent: number,
  policy: RetryPolicy,
): FailureAction {
  const { again, halved } = jobRule(failure);
  if (again === 'always') return 'retry';
  if (again === 'attempts' && job.depth === 0 && job.attempt < policy.attempts) return 'retry';
  if (halved && left > 1 && spent + 2 <= policy.maxRetryBatches) return 'bisect';
  return policy.onFailure === 'error' ? 'error' : 'dead_letter';
}
