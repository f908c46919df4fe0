/**
 * Follows each live job at the service until it is settled or has failed. Polls with backoff,
 * jitter and limited concurrency, by the rules in core/outcome/follow-policy.ts.
 */

import { LogOnce, LogSeldom } from '../../../packages/client/src/base/log-limits.ts';
import { err, ok, type Result } from '../../../packages/client/src/base/result.ts';
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import { type Fail, type FollowState, heard, next } from '../../core/outcome/follow-policy.ts';
import type { RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { type FailureDetail, FIRST_POLL_MS, type Heard, type ShardStages } from './shard-stages.ts';

/** Factor by which each wait is longer than the previous one, up to the maximum wait. */
const GROWTH = 1.5;
/** Maximum length of a state that is shown. The service may send a state of any length. */
const STATE_CHARACTERS = 80;
/** Maximum number of unexpected states to log. Each is logged once. */
const MAX_LOGGED = 100;
/** Minimum wait in ms after a poll without a valid response. */
const UNAVAILABLE_PAUSE_MS = 1000;

interface Again {
  /** Minimum wait before the next poll in ms. */
  readonly afterMs: number;
  /** Error because of which there was no response about the job, or about some of its records. */
  readonly unanswered?: ServiceError | undefined;
}

/** Outcome of settling: done, failed, or to be repeated after another poll. */
export type Settled = { readonly do: 'done' } | Fail | ({ readonly do: 'again' } & Again);

/** Settler of one job. It may take several calls. */
export interface JobSettler {
  /** @param isLast true if records without a decision fail now because their time limit has passed */
  settle(status: RemoteStatus, isLast: boolean): Promise<Settled>;
  /** Detail of the last failure. */
  readonly detail?: FailureDetail | undefined;
}

/** Job that is being followed. */
interface Followed {
  readonly job: LiveJob;
  readonly isProbe: boolean;
  readonly settler: JobSettler;
  isSettling: boolean;
  heard: Heard | undefined;
}

/** Grace period for an upload that an earlier owner did not confirm, from the time when it must have ended. */
const UNCONFIRMED_GRACE_MS = 10_000;

export class Tracker {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  readonly #settlerOf: (job: LiveJob) => JobSettler;
  readonly #followed = new Map<LiveJob, Followed>();
  readonly #logged = new LogOnce(MAX_LOGGED);
  readonly #unanswered = new LogSeldom();

  constructor(shard: ShardContext, stages: ShardStages, settlerOf: (job: LiveJob) => JobSettler) {
    this.#shard = shard;
    this.#stages = stages;
    this.#settlerOf = settlerOf;
  }

  /** @param firstWaitMs wait before the first poll; after a restart it differs by job, to spread the polls */
  async follow(job: LiveJob, firstWaitMs: number, isProbe: boolean): Promise<void> {
    const settler = this.#settlerOf(job);
    const followed = { job, isProbe, settler, isSettling: false, heard: undefined };
    this.#followed.set(job, followed);
    try {
      await this.#follow(followed, firstWaitMs);
    } finally {
      this.#followed.delete(job);
    }
  }

  /** Returns the progress of a job, or undefined if it is not being followed. */
  followed(job: LiveJob): Pick<Followed, 'isSettling' | 'heard'> | undefined {
    return this.#followed.get(job);
  }

  async #follow(followed: Followed, firstWaitMs: number): Promise<void> {
    const { clock, options, random, signal, waits } = this.#shard;
    const { review } = options;
    const { job } = followed;
    // The journal has wall-clock times. Converted once, so that later changes of the clock do not
    // affect the age.
    const createdMs = clock.monotonic() - (clock.now() - job.record.createdMs);
    const mostMs = job.isUploaded ? Infinity : options.uploadDrainMs + UNCONFIRMED_GRACE_MS;
    const uploadUntilMs = clock.monotonic() + Math.min(review.graceMs, mostMs);
    let state: FollowState = { createdMs, uploadUntilMs, remote: undefined, sinceMs: createdMs };
    let waitMs = Math.min(firstWaitMs, review.pollMs);
    let unanswered: ServiceError | undefined;
    let wasOverdue = false;
    for (let ceilingMs = FIRST_POLL_MS; ; ceilingMs *= GROWTH) {
      const wait = clock.sleep(waitMs, signal);
      if (unanswered === undefined) await wait;
      else await waits.while(reasonOf(unanswered), wait);
      const answer = await this.#poll(job);
      signal.throwIfAborted();

      const nowMs = clock.monotonic();
      if (answer.ok) state = this.#heard(followed, state, answer.value, nowMs);
      let step = next(state, answer.ok ? answer.value.state : 'none', nowMs, review);
      let again: Again = { afterMs: 0, unanswered: answer.ok ? undefined : answer.error };
      if (step.do === 'settle' && answer.ok) {
        const settled = await this.#settle(followed, answer.value, step.isLast);
        if (settled.do === 'done') return;
        if (settled.do === 'again') again = settled;
        const heardOf = again.unanswered === undefined ? 'pending' : 'none';
        step = settled.do === 'fail' ? settled : next(state, heardOf, nowMs, review);
      }
      if (step.do === 'fail') return this.#fail(followed, state, step);
      if (step.do === 'wait' && step.overdue && !wasOverdue) {
        wasOverdue = true;
        this.#logOverdue(followed);
      }

      ({ unanswered } = again);
      const pauseMs = unanswered === undefined ? 0 : this.#pauseMs(unanswered);
      // Half of each wait is random, so that the polls of jobs that were created together drift apart.
      const regularMs = Math.min(ceilingMs, review.pollMs) * (0.5 + random.next() * 0.5);
      // A poll takes place when the grace period ends. If that poll fails, the regular wait follows.
      const graceMs = state.remote === 'waiting_for_upload' ? uploadUntilMs - nowMs : 0;
      const pollMs = graceMs > 0 ? Math.min(regularMs, graceMs) : regularMs;
      waitMs = Math.max(pollMs, again.afterMs, pauseMs);
    }
  }

  /** Settles a finished job. */
  async #settle(followed: Followed, answer: RemoteStatus, isLast: boolean): Promise<Settled> {
    const { breakers, clock, logger, report, waits } = this.#shard;
    const { job, settler } = followed;
    const { record } = job;
    // Read before settling, because the batch's span ends with its last record.
    const fields = report.fieldsOf(job);
    return waits.permitted('downloads', async () => {
      const startedMs = clock.monotonic();
      followed.isSettling = true;
      const settled = await settler.settle(answer, isLast).finally(() => {
        followed.isSettling = false;
      });
      if (settled.do === 'again') this.#logUnanswered(fields, settled.unanswered);
      if (settled.do !== 'done') return settled;
      breakers.succeeded(record.type);
      report.since('settle', startedMs);
      report.took('review', clock.now() - (clock.monotonic() - startedMs) - record.createdMs);
      logger.debug({ ...fields, rows: record.count }, 'batch settled');
      return settled;
    });
  }

  #heard(followed: Followed, state: FollowState, answer: RemoteStatus, nowMs: number): FollowState {
    const { clock, report } = this.#shard;
    const { rawState, state: remote } = answer;
    const finished = remote === 'finished';
    const shown = rawState.slice(0, STATE_CHARACTERS);
    followed.heard = { state: shown, finished, atMs: clock.now() };
    if (remote !== state.remote)
      report.spans.of(followed.job).event('state', { 'content_review.state': remote });
    if (remote === 'unknown')
      this.#logOnce(shown, 'the service reports an unknown state; treating it as pending');
    if (remote === 'pending' && answer.withoutResults === true)
      this.#logOnce(
        shown,
        'the service reports a finished batch without the address of its results; polling again',
      );
    return heard(state, remote, nowMs);
  }

  #fail(followed: Followed, { remote }: FollowState, { as }: Fail): void {
    const { job, settler, isProbe, heard } = followed;
    const { logger, report } = this.#shard;
    if (remote === 'missing')
      logger.error(
        report.fieldsOf(job),
        'batch unknown to the service; submitting its records again',
      );
    this.#stages.fail({ job, failure: as, isProbe, heard, detail: settler.detail });
  }

  #logOverdue({ job, heard }: Followed): void {
    const { logger, report } = this.#shard;
    report.count('jobs_failed_total', { reason: 'review_overdue' });
    const about = { ...report.fieldsOf(job), state: heard?.state };
    logger.error(about, 'the review exceeds maxReviewTime; still waiting');
  }

  async #poll(job: LiveJob): Promise<Result<RemoteStatus, ServiceError>> {
    const { kind, logger, report, signal, waits } = this.#shard;
    const { remoteId } = job.record;
    try {
      const status = await waits.permitted('polls', () => {
        signal.throwIfAborted();
        const call = kind.status(remoteId, signal);
        return waits.during('service', call);
      });
      return ok(status);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      const about = { ...report.fieldsOf(job), error: error.message };
      logger.warn(about, 'could not poll the state of a batch; retrying');
      return err(error);
    }
  }

  #logUnanswered(fields: object, error: ServiceError | undefined): void {
    const { clock, logger } = this.#shard;
    if (error === undefined) return;
    if (this.#unanswered.allows(`${error.failure} ${error.status}`, clock.monotonic()))
      logger.warn(
        { ...fields, error: error.message },
        'could not get outcomes of records; retrying',
      );
  }

  /** Returns the minimum wait after a poll without a valid response, in ms. */
  #pauseMs(error: ServiceError): number {
    const { pauseMs } = this.#shard.options.review;
    const leastMs = reasonOf(error) === 'api_key' ? pauseMs : UNAVAILABLE_PAUSE_MS;
    return Math.max(leastMs, error.retryAfterMs ?? 0);
  }

  #logOnce(state: string, message: string): void {
    if (this.#logged.allows(`${state} ${message}`)) this.#shard.logger.warn({ state }, message);
  }
}

/** Returns the wait reason to report after a poll without a valid response (I8). */
const reasonOf = (error: ServiceError) => reactionTo('status', error.failure).because;
