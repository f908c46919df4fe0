/**
 * What must be submitted again, or gets its terminal record without a result row: reads the records from the source
 * topic once more (DESIGN 3 'RereadQueue'), then moves them to new jobs or settles them as failed.
 */

import type { LiveJob } from '../../core/journal/job.ts';
import { CoordinateList } from '../../core/offsets/coordinate-list.ts';
import { decide, type FailureAction, jobRule } from '../../core/outcome/failure-policy.ts';
import type { JobFailure } from '../../core/outcome/failure-row.ts';
import type { ContentItem, Poison } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import type { BatchPlan, Submission } from '../context/submission.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import { FAILURES_IN_A_ROW } from '../limits/type-breakers.ts';
import { settleAsLetters } from '../publish/dead-letters.ts';
import { DecisionChunk } from '../publish/decision-chunk.ts';
import type { DeadLetterIntake } from '../source/dead-letter-queue.ts';
import type { RereadQueue, Wanted } from '../source/reread-queue.ts';

interface Retry {
  readonly job: LiveJob;
  readonly failure: JobFailure;
  readonly action: FailureAction;
  /** Whether this attempt counts against the records. */
  readonly counted: boolean;
}

export class Retrier {
  readonly #shard: ShardContext;
  readonly #rewind: RereadQueue;
  readonly #letters: DeadLetterIntake;
  readonly #submit: (submission: Submission) => void;
  readonly #holdBack: (plan: BatchPlan, records: CoordinateList) => void;
  /** Batches submitted per line, also those whose jobs have ended; a restart knows only the live ones. */
  readonly #spent = new Map<string, number>();

  constructor(
    shard: ShardContext,
    hooks: {
      rewind: RereadQueue;
      letters: DeadLetterIntake;
      submit: (submission: Submission) => void;
      holdBack: (plan: BatchPlan, records: CoordinateList) => void;
    },
  ) {
    this.#shard = shard;
    this.#rewind = hooks.rewind;
    this.#letters = hooks.letters;
    this.#submit = hooks.submit;
    this.#holdBack = hooks.holdBack;
  }

  /** Takes a job that failed; decides what becomes of what is left of it. */
  add(job: LiveJob, failure: JobFailure): void {
    const { context, state } = this.#shard;
    const spent = this.#spentOf(job);
    const status = this.#shard.status(job);
    const counted = !this.#typeFails(job, failure, spent) || status.probe;
    const action = counted
      ? decide(failure, job.record, job.left.size, spent, context.options.review)
      : 'retry';
    if (action === 'bisect') this.#spent.set(job.record.root, spent + 2);
    status.phase = 'retrying';
    status.failure = failure;
    status.span.event('failed', {
      'error.type': failure,
      'content_review.action': action,
      'content_review.left': job.left.size,
    });
    context.metrics.count('jobs_failed_total', { ...this.#shard.labels, reason: failure });
    this.#shard.logger.warn(
      {
        ...this.#shard.fieldsOf(job),
        failure,
        action,
        attempt: job.record.attempt,
        left: job.left.size,
        live: state.jobs.size,
        ...status.detail,
      },
      'a batch did not end with a decision for each record',
    );
    const retry = { job, failure, action, counted };
    if (action !== 'dead_letter') this.#rewind.add(this.#wanted(retry));
    else {
      this.#shard.spawn('turn', async () => {
        await this.#shard.turns.turn(job);
        this.#deadLetter(retry);
      });
    }
  }

  /** Whether a failure says more about the service than about the content. */
  #typeFails(job: LiveJob, failure: JobFailure, spent: number): boolean {
    const { gates, options } = this.#shard.context;
    const { record, left } = job;
    const { pausesType } = jobRule(failure);
    if (pausesType === 'all') return gates.failed(record.type);
    if (2 * left.size <= record.count) {
      gates.succeeded(record.type);
      return false;
    }
    if (pausesType === 'none') return false;
    const action = decide(failure, record, left.size, spent, options.review);
    const givesUp = action === 'error' || action === 'dead_letter';
    // With no success of the type between its first try and its last, nothing proves that the content is at fault.
    const tries = Math.min(FAILURES_IN_A_ROW, record.attempt + record.depth);
    return gates.failed(
      record.type,
      givesUp ? tries : pausesType === 'given_up' ? Number.POSITIVE_INFINITY : undefined,
    );
  }

  #spentOf(job: LiveJob): number {
    return Math.max(
      job.record.spent,
      this.#spent.get(job.record.root) ?? 0,
      this.#shard.state.spentInLine(job.record.root),
    );
  }

  #wanted(retry: Retry): Wanted {
    const { job, action } = retry;
    const { record, left } = job;
    return {
      type: record.type,
      records: () => remainderOf(job),
      bytes: memoryOfItems(left.size, 2 * shareOf(job, left.size)),
      from: job,
      held: undefined,
      turn: () => this.#shard.turns.turn(job),
      submits: action !== 'error',
      found: async (items, pass, batchOf) => {
        if (items.length === 0) return;
        if (action === 'error') return this.#settleAsFailed(retry, items);
        const [first, second] = action === 'bisect' ? halves(items) : [items, []];
        const one = await batchOf(first);
        if (one !== undefined) this.#submit({ ...this.#plan(retry, first), pass, ...one });
        if (second.length === 0) return;
        const plan = this.#plan(retry, second);
        // A closed gate lets one batch through, not two.
        if (pass !== 'open' && one !== undefined)
          return this.#holdBack(plan, new CoordinateList(second));
        const other = await batchOf(second);
        if (other !== undefined) this.#submit({ ...plan, pass, ...other });
      },
    };
  }

  #plan({ job, counted, action }: Retry, items: readonly ContentItem[]): BatchPlan {
    const { record } = job;
    return {
      type: record.type,
      bytes: shareOf(job, items.length),
      from: job,
      attempt: record.attempt + (counted ? 1 : 0),
      depth: record.depth + (action === 'bisect' ? 1 : 0),
      spent: this.#spentOf(job),
    };
  }

  /** By choice, instead of decisions with status ERROR. */
  #deadLetter({ job, failure }: Retry): void {
    const poison: Poison = {
      reason: 'review_failed',
      message: `${this.#messageOf(job, failure)} (${failure})`,
    };
    this.#letters.add({
      records: remainderOf(job),
      from: job,
      held: undefined,
      poison,
      stage: 'rewind',
    });
  }

  #messageOf(job: LiveJob, failure: JobFailure): string {
    const { message } = jobRule(failure);
    const { detail } = this.#shard.status(job);
    return failure === 'rows_malformed' && detail !== undefined
      ? `${message}: ${detail.reason}`
      : message;
  }

  async #settleAsFailed({ job, failure }: Retry, items: readonly ContentItem[]): Promise<void> {
    const { context } = this.#shard;
    const error = { code: failure, message: this.#messageOf(job, failure) };
    const decisions = new DecisionChunk(this.#shard, job);
    for (const item of items) {
      const about = this.#shard.aboutJob(job);
      decisions.add(item, true, undefined, () => context.kind.failure(item, error, about));
      if (decisions.isFull) await decisions.flush();
    }
    await decisions.flush();
    await settleAsLetters(this.#shard, job, decisions.refused, 'rewind');
  }
}

/** Of the bytes of the job's body, those of some of its records. */
const shareOf = ({ record }: LiveJob, records: number): number =>
  Math.ceil((record.bytes * records) / Math.max(1, record.count));

/** What is left of a job; its records were claimed long ago, so their timestamps do not matter. */
const remainderOf = (job: LiveJob): CoordinateList =>
  new CoordinateList(
    [...job.left].map((at) => ({ ...at, timestampMs: 0, replay: job.replayOf(at.partition) })),
  );

function halves(items: readonly ContentItem[]): [readonly ContentItem[], readonly ContentItem[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}
