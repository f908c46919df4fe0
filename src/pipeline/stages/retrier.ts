/**
 * Retries failed jobs: rereads their remaining records from the source topic. Then moves the
 * records to new jobs, or settles them without a result.
 */
import type { ItemRow } from '../../core/bytes/result-slice.ts';
import { SliceWriter } from '../../core/bytes/slice-writer.ts';
import { BatchRecords, type LiveJob } from '../../core/journal/job.ts';
import {
  decide,
  type FailureAction,
  jobRule,
  type RetryPolicy,
} from '../../core/outcome/failure-policy.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type { ContentItem } from '../../core/record.ts';
import type { PipelineOptions } from '../context/options.ts';
import { jobContext, type ShardContext } from '../context/shard-context.ts';
import type { BatchPlan } from '../context/submission.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import { FAILURES_IN_A_ROW } from '../limits/type-breakers.ts';
import { writtenBetween } from '../source/reread.ts';
import type { RereadRequest } from '../source/reread-queue.ts';
import { Settlement } from './settlement.ts';
import type { FailedJob, ShardStages } from './shard-stages.ts';

/** Number of rows to render before some of them may be published. */
const SLICE_ROWS = 256;

interface Retry extends FailedJob {
  readonly action: FailureAction;
  /** True if this attempt counts as one of the records' attempts. */
  readonly counted: boolean;
}

export class Retrier {
  readonly #shard: ShardContext;
  readonly #stages: ShardStages;
  /** Number of batches submitted per line, including those of ended jobs. Lost on a restart. */
  readonly #spent = new Map<string, number>();
  readonly #failed = new WeakMap<LiveJob, FailedJob>();

  constructor(shard: ShardContext, stages: ShardStages) {
    this.#shard = shard;
    this.#stages = stages;
  }

  /** Adds a failed job, and decides how its remaining records are handled. */
  add(failed: FailedJob): void {
    const { logger, options, report, state } = this.#shard;
    const { job, failure, isProbe, detail } = failed;
    const { record, left } = job;
    this.#failed.set(job, failed);
    const spent = this.#spentOf(job);
    const isEvidence = !this.#typeFails(failed, spent) || isProbe;
    // Only attempts that the service has reviewed or rejected are counted.
    const counted = isEvidence && jobRule(failure).again !== 'always';
    const action = counted
      ? decide(failure, record, left.size, spent, retryPolicy(options))
      : 'retry';
    if (action === 'bisect') {
      for (const root of this.#spent.keys())
        if (state.spentInLine(root) === 0) this.#spent.delete(root);
      this.#spent.set(record.root, spent + 2);
    }
    report.spans.failed(job, failure, action);
    report.count('jobs_failed_total', { reason: failure });
    const about = { failure, action, attempt: record.attempt, left: left.size };
    logger.warn(
      { ...report.fieldsOf(job), ...about, live: state.jobs.size, ...detail },
      'batch failed',
    );

    const retry = { ...failed, action, counted };
    if (action !== 'dead_letter') this.#stages.rereads.add(this.#request(retry));
    else {
      const message = `${messageOf(retry)} (${failure})`;
      this.#stages.deadLetters.add({
        records: job.left.clone(),
        written: writtenBetween(job),
        from: job,
        inFlight: undefined,
        poison: { reason: 'review_failed', message },
        stage: 'rewind',
      });
    }
  }

  /** Returns the failure of a job, or undefined if the job has not failed. */
  failed(job: LiveJob): FailedJob | undefined {
    return this.#failed.get(job);
  }

  /** Returns true if the failure is evidence against the service or type rather than the content. */
  #typeFails({ job, failure }: FailedJob, spent: number): boolean {
    const { breakers, options } = this.#shard;
    const { record, left } = job;
    const { pausesType } = jobRule(failure);
    if (pausesType === 'all') return breakers.failed(record.type);
    if (2 * left.size <= record.count) {
      breakers.succeeded(record.type);
      return false;
    }
    if (pausesType === 'none') return false;
    const action = decide(failure, record, left.size, spent, retryPolicy(options));
    // After the last attempt, a type whose attempts all failed is paused: its content may be fine.
    if (action === 'error' || action === 'dead_letter')
      return breakers.failed(
        record.type,
        Math.min(FAILURES_IN_A_ROW, record.attempt + record.depth),
      );
    return breakers.failed(record.type, pausesType === 'given_up' ? Infinity : undefined);
  }

  #spentOf({ record: { root, spent } }: LiveJob): number {
    return Math.max(spent, this.#spent.get(root) ?? 0, this.#shard.state.spentInLine(root));
  }

  #request(retry: Retry): RereadRequest {
    const { job, action } = retry;
    const { record, left } = job;
    return {
      type: record.type,
      records: left,
      written: writtenBetween(job),
      bytes: memoryOfItems(left.size, 2 * shareOf(job, left.size)),
      from: job,
      inFlight: undefined,
      submits: action !== 'error',
      heldBytes: 0,
      found: async (items, permit, batchOf) => {
        if (items.length === 0) return;
        if (action === 'error') return this.#settleAsFailed(retry, items);
        const half = action === 'bisect' ? Math.ceil(items.length / 2) : items.length;
        const [first, second] = [items.slice(0, half), items.slice(half)];
        const batch = await batchOf(first);
        if (batch !== undefined)
          this.#stages.submit({ ...this.#plan(retry, first), permit, batch });
        if (second.length === 0) return;
        const plan = this.#plan(retry, second);
        // If the type is blocked, its breaker lets only one batch through, so the second half is parked.
        if (permit === 'probe' && batch !== undefined)
          return this.#stages.park(plan, new BatchRecords(second));
        const other = await batchOf(second);
        if (other !== undefined) this.#stages.submit({ ...plan, permit, batch: other });
      },
    };
  }

  #plan({ job, counted, action }: Retry, items: readonly ContentItem[]): BatchPlan {
    const { type, lane, attempt, depth } = job.record;
    return {
      type,
      lane: this.#shard.lanes.named(lane),
      bytes: shareOf(job, items.length),
      from: job,
      attempt: attempt + (counted ? 1 : 0),
      depth: depth + (action === 'bisect' ? 1 : 0),
      spent: this.#spentOf(job),
    };
  }

  async #settleAsFailed(retry: Retry, items: readonly ContentItem[]): Promise<void> {
    const { clock, kind } = this.#shard;
    const { job, failure } = retry;
    const error = { code: failure, message: messageOf(retry) };
    using settlement = new Settlement(this.#shard, this.#stages.writer, job, 'rewind');
    const rowOf = (item: ContentItem): ItemRow => {
      const { partition, offset } = item;
      const about = jobContext(job, clock.now());
      const failed = attempt(() => kind.failure(item, error, about));
      return 'poison' in failed
        ? { partition, offset, poison: failed.poison }
        : { partition, offset, status: 'error', record: failed.made };
    };
    for (let from = 0; from < items.length; from += SLICE_ROWS) {
      const rows = items.slice(from, from + SLICE_ROWS).map(rowOf);
      await settlement.take(SliceWriter.sliceOf(rows), () => true);
    }
    await settlement.end();
  }
}

const retryPolicy = ({ review, maxRetryBatches }: PipelineOptions): RetryPolicy => ({
  ...review,
  maxRetryBatches,
});

function messageOf({ failure, detail }: Retry): string {
  const { message } = jobRule(failure);
  return failure === 'rows_malformed' && detail !== undefined
    ? `${message}: ${detail.reason}`
    : message;
}

/** Estimates the size of some of a job's records in bytes, as their share of the job's body. */
const shareOf = ({ record: { bytes, count } }: LiveJob, records: number): number =>
  Math.ceil((bytes * records) / Math.max(1, count));
