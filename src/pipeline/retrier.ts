/**
 * What must be submitted again, or gets its terminal record without a result row: reads the records from the source
 * topic once more (DESIGN 3 'Rewind'), then moves them to new jobs or settles them as failed.
 */
import { CoordinateList } from '../core/coordinate-list.ts';
import { type DeadLetterContext, deadLetter, deadLetterOf } from '../core/dead-letter.ts';
import { decide, type FailureAction, type JobFailure, jobRule } from '../core/failure-policy.ts';
import { CoordinateSet, type LiveJob } from '../core/job.ts';
import type { ContentItem, Poison, SourceCoordinate, SourceRecord } from '../core/record.ts';
import type { ShardRuntime } from './shard-runtime.ts';
import type { SourceLetterQueue } from './source-letters.ts';
import { readAgain } from './source-log.ts';
import type { Submission } from './submitter.ts';

interface Retry {
  readonly job: LiveJob;
  readonly failure: JobFailure;
  readonly action: FailureAction;
  /** Whether this attempt counts against the records. */
  readonly counted: boolean;
  /** The records wanted, as they were when the job failed; found ones are taken out. */
  readonly wanted: CoordinateSet;
  readonly items: ContentItem[];
  /** Those that cannot be submitted again: what was read of them, or where they were. */
  readonly unreadable: { readonly at: SourceRecord | SourceCoordinate; readonly poison: Poison }[];
}

export class Retrier {
  readonly #shard: ShardRuntime;
  readonly #submit: (submission: Submission) => void;
  readonly #waiting: Retry[] = [];
  readonly #letters: SourceLetterQueue;
  #running = false;
  /** Batches submitted per line, also those whose jobs have ended; a restart knows only the live ones. */
  readonly #spent = new Map<string, number>();

  constructor(shard: ShardRuntime, letters: SourceLetterQueue, submit: (submission: Submission) => void) {
    this.#shard = shard;
    this.#letters = letters;
    this.#submit = submit;
  }

  /** Takes a job that failed; decides what becomes of what is left of it. */
  add(job: LiveJob, failure: JobFailure): void {
    const { context, state } = this.#shard;
    const spent = this.#spentOf(job);
    const status = this.#shard.status(job);
    const typeFails = jobRule(failure).pausesType && context.gates.failed(job.record.type);
    const counted = !typeFails || status.probe;
    const action = counted ? decide(failure, job.record, job.left.size, spent, context.options.retry) : 'retry';
    if (action === 'bisect') this.#spent.set(job.record.root, spent + 2);
    status.phase = 'retrying';
    context.metrics.count('jobs_failed_total', { ...this.#shard.labels, reason: failure });
    this.#shard.logger.warn(
      {
        job: job.record.id,
        batch: job.record.remoteId,
        failure,
        action,
        attempt: job.record.attempt,
        left: job.left.size,
        live: state.jobs.size,
      },
      'a batch did not end with a decision for each record',
    );
    const retry: Retry = { job, failure, action, counted, wanted: job.left.clone(), items: [], unreadable: [] };
    const { turns } = this.#shard;
    if (turns.mayPublish(job)) this.#enqueue(retry);
    // Outside the passes: one that waited for its turn would keep the earlier job's retry from being read.
    else this.#shard.spawn('turn', () => turns.turn(job).then(() => this.#enqueue(retry)));
  }

  #enqueue(retry: Retry): void {
    if (retry.action === 'dead_letter') {
      this.#deadLetter(retry);
      return;
    }
    this.#waiting.push(retry);
    if (!this.#running) this.#shard.spawn('rewind', () => this.#run());
  }

  #spentOf(job: LiveJob): number {
    return Math.max(job.record.spent, this.#spent.get(job.record.root) ?? 0, this.#shard.state.spentInLine(job.record.root));
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#waiting.length > 0) await this.#pass();
    } finally {
      this.#running = false;
    }
  }

  /** One pass over the source for as many waiting retries as memory has room for, at least one. */
  async #pass(): Promise<void> {
    const { context, signal } = this.#shard;
    const retries: Retry[] = [];
    let bytes = 0;
    while (
      this.#waiting[0] !== undefined &&
      (retries.length === 0 || bytes + memoryOf(this.#waiting[0]) < context.budget.totalBytes / 8)
    ) {
      const retry = this.#waiting.shift() as Retry;
      bytes += memoryOf(retry);
      retries.push(retry);
    }
    const release = await this.#shard.saysWhy('work_memory', context.budget.work(bytes, signal));
    let holders = 1;
    const letGo = () => {
      if (--holders === 0) release();
    };
    // A part holds the pass's memory until its body is encoded; from then on it counts as any batch on its way does, however
    // long its upload has to wait.
    const part = () => {
      holders++;
      let held: number | undefined;
      return {
        hold: (bytes: number) => {
          held = bytes;
          context.budget.adopt(bytes);
          letGo();
        },
        release: () => {
          if (held === undefined) letGo();
          else context.budget.unseal(held);
        },
      };
    };
    try {
      await this.#read(retries);
      for (const retry of retries) {
        await this.#settleUnreadable(retry);
        if (retry.items.length === 0) continue;
        if (retry.action === 'error') await this.#settleAsFailed(retry);
        else {
          for (const items of retry.action === 'bisect' ? halves(retry.items) : [retry.items]) {
            this.#submit(this.#submission(retry, items, part()));
          }
        }
      }
    } finally {
      letGo();
    }
  }

  #submission(retry: Retry, items: readonly ContentItem[], memory: Pick<Submission, 'hold' | 'release'>): Submission {
    const { record } = retry.job;
    const bisected = retry.action === 'bisect';
    return {
      type: record.type,
      items,
      sinceMs: this.#shard.context.clock.now(),
      from: retry.job,
      attempt: record.attempt + (retry.counted ? 1 : 0),
      depth: record.depth + (bisected ? 1 : 0),
      spent: this.#spentOf(retry.job),
      ...memory,
    };
  }

  async #read(retries: readonly Retry[]): Promise<void> {
    const wanted = CoordinateSet.of(retries.flatMap((retry) => [...retry.wanted]));
    await readAgain(this.#shard, wanted, (records) => {
      for (const record of records) this.#found(retries, record);
    });
    for (const retry of retries) {
      for (const at of retry.wanted) {
        const poison: Poison = {
          reason: 'source_unavailable',
          message: 'the source topic no longer has this record, so it cannot be submitted again',
        };
        retry.unreadable.push({ at, poison });
      }
    }
  }

  #found(retries: readonly Retry[], record: SourceRecord): void {
    const { partition, offset } = record;
    const retry = retries.find(({ wanted }) => wanted.has(partition, offset));
    if (retry === undefined) return;
    retry.wanted.delete(partition, offset);
    const decoded = this.#shard.context.kind.decode(record, retry.job.replayOf(partition), { type: retry.job.record.type });
    if ('item' in decoded) retry.items.push(decoded.item);
    else {
      const poison: Poison =
        'poison' in decoded
          ? decoded.poison
          : { reason: 'source_unavailable', message: `configuration skips this record now (${decoded.skip})` };
      retry.unreadable.push({ at: record, poison });
    }
  }

  #letter(retry: Retry, at: SourceCoordinate): DeadLetterContext {
    const { options, topics } = this.#shard.context;
    return {
      topic: options.source.topic,
      stage: 'rewind',
      replay: retry.job.replayOf(at.partition),
      maxValueBytes: topics.maxDeadLetterBytes,
    };
  }

  async #settleUnreadable(retry: Retry): Promise<void> {
    const { context, chunk } = this.#shard;
    const render = ({ at, poison }: Retry['unreadable'][number]) => {
      const about = this.#letter(retry, at);
      // Key and headers alone may be more than the topic takes: then the coordinates must do, as for a record that is gone.
      const whole = 'value' in at && !chunk.isOversized(at);
      const record = whole ? deadLetter(at, poison, about) : deadLetterOf(at, poison, about);
      return { partition: at.partition, offset: at.offset, reason: poison.reason, record };
    };
    await chunk.inChunks(retry.unreadable, render, async (letters) => {
      await this.#shard.settle(retry.job, context.options.deadLetters.topic, letters);
      for (const { reason } of letters) context.ledger.deadLettered(reason, 1);
    });
  }

  /** By choice, instead of decisions with status ERROR. */
  #deadLetter({ job, failure, wanted }: Retry): void {
    const records = new CoordinateList([...wanted].map((at) => ({ ...at, timestampMs: 0, replay: job.replayOf(at.partition) })));
    const poison: Poison = { reason: 'review_failed', message: `${jobRule(failure).message} (${failure})` };
    this.#letters.add({ records, from: job, poison, stage: 'rewind' });
  }

  async #settleAsFailed(retry: Retry): Promise<void> {
    const { context, chunk } = this.#shard;
    const { job, failure } = retry;
    const { id, remoteId, type, attempt } = job.record;
    const error = { code: failure, message: jobRule(failure).message };
    const { output, deadLetters } = context.options;
    const tooLarge = retry.items.filter((item) => chunk.isOversized(item));
    await chunk.inChunks(
      retry.items.filter((item) => !chunk.isOversized(item)),
      (item) => ({
        partition: item.partition,
        offset: item.offset,
        record: context.kind.failure(item, error, { jobId: id, remoteId, type, attempt, decidedAtMs: context.clock.now() }),
      }),
      async (decisions) => {
        await this.#shard.settle(job, output.topic, decisions);
        context.ledger.decided('ERROR', decisions.length);
      },
    );
    await chunk.inChunks(
      tooLarge,
      ({ partition, offset }) => {
        const at = { partition, offset };
        return { ...at, record: this.#shard.tooLargeDecision(job, at, 'rewind') };
      },
      async (letters) => {
        await this.#shard.settle(job, deadLetters.topic, letters);
        context.ledger.deadLettered('too_large', letters.length);
      },
    );
  }
}

/** Items take about the memory of the body that they were in, and of their objects. */
const memoryOf = (retry: Retry): number =>
  Math.ceil((retry.job.record.bytes * 2 * retry.wanted.size) / Math.max(1, retry.job.record.count));

function halves(items: readonly ContentItem[]): (readonly ContentItem[])[] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)].filter((half) => half.length > 0);
}
