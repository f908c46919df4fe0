/**
 * Turns a finished job's results into terminal records (DESIGN 3 'Settle'): streams them, collects a chunk, and publishes
 * each chunk in one transaction with what is left of the job. Rows that have no place any more are counted and dropped (I2).
 */

import { reactionTo } from '../core/failure-policy.ts';
import type { JobFailure } from '../core/failure-row.ts';
import { CoordinateSet, type LiveJob } from '../core/job.ts';
import { bytesOf } from '../core/outgoing-bytes.ts';
import type { JobContext, RemoteStatus, ResultFileKind } from '../core/ports/pipeline-kind.ts';
import type { BrokenRow, MalformedRow, ResultRow } from '../core/read-row.ts';
import type { OutgoingRecord } from '../core/record.ts';
import { ServiceError } from '../core/service-error.ts';
import { errorType } from './batch-span.ts';
import { type Due, settleAsLetters, tooLargeFor } from './letters.ts';
import type { ShardRuntime } from './shard-runtime.ts';

/** Ask for the job once more, and download its results from the start. */
export interface DownloadAgain {
  /** No sooner than this: the other side's wish, ms. */
  readonly afterMs: number;
  /** Whether it is one of the downloads after which rows count as missing. */
  readonly counted: boolean;
  /** Why the service could not be asked about some of the records: nothing is known about them. */
  readonly unanswered?: ServiceError | undefined;
}

export type SettleOutcome = 'done' | DownloadAgain | JobFailure;

interface ChunkRow {
  readonly partition: number;
  readonly offset: number;
  readonly record: OutgoingRecord;
  readonly status: ResultRow['status'];
  readonly result: string | undefined;
}

export class Settler {
  readonly #shard: ShardRuntime;
  readonly #kind: ResultFileKind;

  constructor(shard: ShardRuntime, kind: ResultFileKind) {
    this.#shard = shard;
    this.#kind = kind;
  }

  /** @param download how often this job's results were downloaded since a download last settled something, this time included; only counted ones (DownloadAgain) */
  async settle(job: LiveJob, status: RemoteStatus, download: number): Promise<SettleOutcome> {
    const { context, signal } = this.#shard;
    return this.#shard.permitted('downloads', async () => {
      signal.throwIfAborted();
      const release = await this.#shard.saysWhy('work_memory', context.budget.work(context.options.chunk.maxBytes, signal));
      this.#shard.status(job).phase = 'settling';
      try {
        return await new Pass(this.#shard, this.#kind, job, status, download).run();
      } finally {
        release();
        const still = this.#shard.jobs.get(job.record.id);
        if (still?.phase === 'settling') still.phase = 'reviewing';
      }
    });
  }
}

/** Nothing is left of a job. @param batch fields of its log line @param startedMs on the monotonic clock: when this last pass over it began */
export function jobSettled(
  { context, labels, logger }: ShardRuntime,
  { record }: LiveJob,
  batch: object,
  startedMs: number,
  rows: number,
): void {
  const stage = (name: string, ms: number) =>
    context.metrics.observe('stage_duration_seconds', { ...labels, stage: name }, ms / 1000);
  context.gates.succeeded(record.type);
  const settleMs = context.clock.monotonic() - startedMs;
  stage('settle', settleMs);
  stage('review', Math.max(0, context.clock.now() - settleMs - record.createdMs));
  logger.debug({ ...batch, rows }, 'batch settled');
}

/** One download of a job's results. */
class Pass {
  readonly #shard: ShardRuntime;
  readonly #kind: ResultFileKind;
  readonly #job: LiveJob;
  readonly #status: RemoteStatus;
  readonly #download: number;
  /** What was left when this pass began: rows outside it were settled by an earlier one. */
  readonly #before: CoordinateSet;
  /** Rows of this pass, settled or in the chunk being collected. */
  readonly #taken = new CoordinateSet();
  readonly #retriedErrors = new CoordinateSet();
  /** For log lines: also when the job is through, and forgotten. */
  readonly #fields: object;
  #chunk: ChunkRow[] = [];
  #chunkBytes = 0;
  /** Rows whose decisions cannot be made, or are not taken by Kafka. */
  readonly #refused: Due[] = [];
  #rows = 0;
  #malformed = 0;
  /** Why the first malformed row is none. */
  #firstMalformed: string | undefined;
  /** Of the pass: in the transactions of its rows. */
  #publishingMs = 0;

  constructor(shard: ShardRuntime, kind: ResultFileKind, job: LiveJob, status: RemoteStatus, download: number) {
    this.#shard = shard;
    this.#kind = kind;
    this.#job = job;
    this.#status = status;
    this.#download = download;
    this.#before = job.left.clone();
    this.#fields = shard.fieldsOf(job);
  }

  async run(): Promise<SettleOutcome> {
    const { context, signal } = this.#shard;
    const startedMs = context.clock.monotonic();
    let cut: ServiceError | undefined;
    const reading = this.#shard.spanOf(this.#job.record.id).step('download', { 'content_review.download': this.#download });
    try {
      for await (const slice of context.waits.each(
        'download',
        this.#shard.who,
        this.#kind.results(this.#status, () => this.#context(), signal),
      )) {
        signal.throwIfAborted();
        for (const row of slice) {
          this.#rows++;
          if ('malformed' in row) this.#drop(row);
          else this.#take(row);
          if (this.#shard.chunk.isFull(this.#chunk.length, this.#chunkBytes)) await this.#flush();
        }
      }
    } catch (error) {
      reading.end(errorType(error));
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      cut = error;
    }
    reading.set({ 'content_review.rows': this.#rows });
    reading.end();
    // Also after a cut: these rows are as good as any, and the next download skips them.
    const readingMs = context.clock.monotonic() - startedMs - this.#publishingMs;
    context.metrics.observe('stage_duration_seconds', { ...this.#shard.labels, stage: 'download' }, readingMs / 1000);
    await this.#flush();
    await settleAsLetters(this.#shard, this.#job, this.#refused, 'settle');
    if (this.#job.left.size === 0) {
      if (this.#malformed > 0) {
        const about = { ...this.#fields, malformed: this.#malformed, reason: this.#firstMalformed };
        this.#shard.logger.warn(about, 'the results had malformed rows beside those of the batch');
      }
      jobSettled(this.#shard, this.#job, this.#fields, startedMs, this.#rows);
      return 'done';
    }
    if (cut !== undefined) return this.#afterCut(cut);
    return this.#afterShortFile();
  }

  #drop({ malformed, crash }: MalformedRow): void {
    this.#malformed++;
    this.#firstMalformed ??= malformed;
    this.#anomaly('malformed');
    if (crash !== undefined) this.#shard.context.internal.report('results', this.#fields, crash);
  }

  #take(row: ResultRow | BrokenRow): void {
    const { partition, offset } = row;
    if (!this.#before.has(partition, offset)) {
      // Settled by an earlier pass (a restart downloads again), or never ours.
      if (!this.#job.everNamed(partition, offset)) this.#anomaly('unknown');
      return;
    }
    if (this.#retriedErrors.has(partition, offset) || !this.#taken.add(partition, offset)) {
      this.#anomaly('duplicate');
      return;
    }
    if ('poison' in row) {
      this.#refused.push(row);
      return;
    }
    if (row.status === 'error' && this.#job.record.attempt < this.#shard.context.options.retry.errorRowAttempts) {
      this.#taken.delete(partition, offset);
      this.#retriedErrors.add(partition, offset);
      return;
    }
    if (!this.#shard.mayPublish(row)) {
      this.#refused.push({ partition, offset, poison: tooLargeFor(this.#shard.context.options.output.topic) });
      return;
    }
    this.#chunk.push({ partition, offset, status: row.status, result: row.result, record: row.record });
    this.#chunkBytes += bytesOf(row.record);
  }

  async #flush(): Promise<void> {
    const { context } = this.#shard;
    const chunk = this.#chunk;
    this.#chunk = [];
    this.#chunkBytes = 0;
    if (chunk.length === 0) return;
    const fromMs = context.clock.monotonic();
    await this.#shard.settle(this.#job, context.options.output.topic, chunk);
    this.#publishingMs += context.clock.monotonic() - fromMs;
    context.ledger.published(chunk);
    this.#shard.decided(this.#job, chunk.length);
  }

  #afterCut(cut: ServiceError): SettleOutcome {
    const { counted, afterMs = 0 } = reactionTo('results', cut.failure);
    const status = this.#shard.status(this.#job);
    // Downloads of one batch mostly fail alike.
    if (status.detail?.reason !== cut.message) {
      this.#shard.logger.warn(
        { ...this.#fields, error: cut.message, left: this.#job.left.size },
        'the download of results ended early; trying again',
      );
    }
    status.detail = { reason: cut.message };
    if (counted && this.#download > this.#shard.context.options.retry.downloads) {
      this.#anomaly('unreadable');
      return 'results_unreadable';
    }
    return { afterMs: Math.max(afterMs, cut.retryAfterMs ?? 0), counted };
  }

  /** The file is whole, yet rows are wanting: it may have been read before it was complete. */
  #afterShortFile(): SettleOutcome {
    const { context } = this.#shard;
    const expected = this.#status.expectedRows ?? this.#job.record.count;
    if (this.#rows < expected && this.#download <= context.options.retry.downloads) return { afterMs: 0, counted: true };
    const missing = this.#job.left.size - this.#retriedErrors.size;
    if (missing > 0) this.#anomaly('missing', missing);
    const [reason, malformed] = [this.#firstMalformed, this.#malformed];
    this.#shard.status(this.#job).detail = reason === undefined ? undefined : { reason, malformed };
    if (this.#retriedErrors.size > 0) return 'rows_failed';
    if (reason === undefined) return 'rows_missing';
    // A quote that does not close may have swallowed the rows that are missing.
    return this.#rows < expected ? 'results_unreadable' : 'rows_malformed';
  }

  #anomaly(kind: string, count = 1): void {
    this.#shard.context.metrics.count('result_anomalies_total', { ...this.#shard.labels, kind }, count);
  }

  #context(): JobContext {
    const { id, remoteId, type, attempt } = this.#job.record;
    return { jobId: id, remoteId, type, attempt, decidedAtMs: this.#shard.context.clock.now() };
  }
}
