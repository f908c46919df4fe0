/**
 * Follows each live job at the service until its results are there, or it has failed (DESIGN 3 'Track', 'Recover'):
 * polls with backoff and jitter, a few at a time.
 */

import { Once } from '../../base/seldom.ts';
import type { LiveJob } from '../../core/journal/job.ts';
import type { JobFailure } from '../../core/outcome/failure-row.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { RemoteState, RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { SettleOutcome } from './result-file-settler.ts';
import { ServicePause } from './service-pause.ts';

/** Each wait is this much longer than the one before, up to the cap. */
const GROWTH = 1.5;
/** Of a state that the service may spell as it likes. */
const STATE_CHARACTERS = 80;
/** Odd states that are logged, each once. */
const MAX_SAID = 100;

/** @param last whether what is not through now fails, because its time is over */
export type Settle = (
  job: LiveJob,
  status: RemoteStatus,
  download: number,
  last: boolean,
) => Promise<SettleOutcome>;

export class Tracker {
  readonly #shard: ShardContext;
  readonly #settle: Settle;
  readonly #fail: (job: LiveJob, failure: JobFailure) => void;
  readonly #odd = new Once(MAX_SAID);

  constructor(
    shard: ShardContext,
    hooks: {
      settle: Settle;
      fail: (job: LiveJob, failure: JobFailure) => void;
    },
  ) {
    this.#shard = shard;
    this.#settle = hooks.settle;
    this.#fail = hooks.fail;
  }

  /**
   * Follows one job to its end, or until it fails. `firstWaitMs`: a restart spreads its first polls, so that a thousand
   * recovered jobs are no storm.
   */
  async follow(job: LiveJob, firstWaitMs: number): Promise<void> {
    const pause = new ServicePause(this.#shard);
    try {
      await this.#follow(job, firstWaitMs, pause);
    } finally {
      pause.end();
    }
  }

  async #follow(job: LiveJob, firstWaitMs: number, pause: ServicePause): Promise<void> {
    const { context, signal } = this.#shard;
    const { review } = context.options;
    // The journal has the wall clock. How old the job is now is believed once; later corrections of the clock make it no older.
    const createdMs = context.clock.monotonic() - (context.clock.now() - job.record.createdMs);
    let waitMs = firstWaitMs;
    let nextMs = review.poll.initialMs;
    let missingSinceMs: number | undefined;
    let overdue = false;
    let state: RemoteState | undefined;
    let downloads = 0;
    for (;;) {
      this.#shard.status(job).nextAskMs = context.clock.now() + waitMs;
      await context.clock.sleep(waitMs, signal);
      const status = await this.#ask(job);
      pause.end();
      signal.throwIfAborted();
      // Half of each wait is fixed, half is chance: polls of jobs that were created together drift apart.
      waitMs = nextMs * (0.5 + context.random.next() * 0.5);
      nextMs = Math.min(review.poll.maxMs, nextMs * GROWTH);
      const nowMs = context.clock.monotonic();
      const isLate = nowMs - createdMs > review.maxReviewTimeMs;
      if (status instanceof ServiceError) {
        waitMs = Math.max(waitMs, pause.begin(status));
        // Whatever `onTimeout` is: what the service has decided is not known, and it may be down for all.
        if (isLate && !overdue) overdue = this.#sayOverdue(job);
        continue;
      }
      const finished = status.state === 'finished';
      this.#shard.status(job).heard = {
        state: status.rawState.slice(0, STATE_CHARACTERS),
        finished,
        atMs: context.clock.now(),
      };
      if (status.state !== state) {
        state = status.state;
        this.#shard.spanOf(job.record.id).event('state', { 'content_review.state': state });
      }
      if (status.state !== 'missing') missingSinceMs = undefined;
      switch (status.state) {
        case 'finished': {
          if (await this.#shard.turns.turn(job)) {
            // The address that this answer gave may have expired meanwhile.
            waitMs = 0;
            continue;
          }
          downloads++;
          const left = job.left.size;
          const outcome = await this.#settle(
            job,
            status,
            downloads,
            isLate && review.onTimeout === 'error',
          );
          if (outcome === 'done') return;
          if (typeof outcome === 'string') return this.#fail(job, outcome);
          if (!outcome.counted) downloads--;
          // The download that settled something is the first of the next count.
          if (job.left.size < left) downloads = outcome.counted ? 1 : 0;
          waitMs = Math.max(waitMs, outcome.afterMs);
          if (outcome.unanswered === undefined) break;
          waitMs = Math.max(waitMs, pause.begin(outcome.unanswered));
          if (isLate && !overdue) overdue = this.#sayOverdue(job);
          continue;
        }
        case 'failed':
        case 'cancelled':
          return this.#fail(job, status.state === 'failed' ? 'batch_failed' : 'batch_cancelled');
        case 'missing':
          missingSinceMs ??= nowMs;
          if (nowMs - missingSinceMs < review.missingGraceMs) continue;
          this.#shard.logger.error(
            this.#shard.fieldsOf(job),
            'the service no longer knows this batch: submitting its records again',
          );
          return this.#fail(job, 'batch_unknown');
        case 'foreign':
          this.#shard.logger.error(
            this.#shard.fieldsOf(job),
            'the service gave this batch the id of another one: submitting its records again',
          );
          return this.#fail(job, 'batch_unknown');
        case 'waiting_for_upload':
          // Storage events reach the service late. This very answer is the last look after the grace.
          if (nowMs - this.#shard.status(job).graceFromMs < review.uploadGraceMs) continue;
          return this.#fail(job, 'upload_lost');
        case 'unknown':
          this.#sayOnce(
            status.rawState,
            'the service reports a state that this version does not know: treated as pending',
          );
          break;
        case 'pending':
          if (status.withoutResults === true)
            this.#sayOnce(
              status.rawState,
              'the service reports a finished batch without an address for its results; asking again',
            );
          break;
      }
      if (!isLate) continue;
      if (review.onTimeout === 'error') return this.#fail(job, 'review_timeout');
      if (!overdue) overdue = this.#sayOverdue(job);
    }
  }

  /** @returns that it was said */
  #sayOverdue(job: LiveJob): true {
    const state = this.#shard.status(job).heard?.state;
    this.#shard.context.metrics.count('jobs_failed_total', {
      ...this.#shard.labels,
      reason: 'review_overdue',
    });
    this.#shard.logger.error(
      { ...this.#shard.fieldsOf(job), state },
      'the review takes longer than maxReviewTime; waiting on',
    );
    return true;
  }

  async #ask(job: LiveJob): Promise<RemoteStatus | ServiceError> {
    const { context, signal } = this.#shard;
    try {
      return await this.#shard.permitted('polls', async () => {
        signal.throwIfAborted();
        return this.#shard.saysWhy(
          'service_unavailable',
          context.kind.status(job.record.remoteId, signal, job.record.type),
        );
      });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      this.#shard.logger.warn(
        { ...this.#shard.fieldsOf(job), error: error.message },
        'could not ask for the state of a batch; trying again',
      );
      return error;
    }
  }

  #sayOnce(state: string, what: string): void {
    if (this.#odd.allows(`${state} ${what}`))
      this.#shard.logger.warn({ state: state.slice(0, STATE_CHARACTERS) }, what);
  }
}
