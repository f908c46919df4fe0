/**
 * Turns a finished job's results into terminal records (DESIGN 3 'Settle'): streams them, collects a chunk, and publishes
 * each chunk in one transaction with what is left of the job. Rows that have no place any more are counted and dropped (I2).
 */

import type { MalformedRow } from '../../core/batch/read-row.ts';
import type { ResultSlice } from '../../core/bytes/result-slice.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import type { JobFailure } from '../../core/outcome/failure-row.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { RemoteStatus, ResultFileKind } from '../../core/ports/pipeline-kind.ts';
import { errorType } from '../context/batch-span.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { settleAsLetters } from '../publish/dead-letters.ts';
import { DecisionChunk } from '../publish/decision-chunk.ts';

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

/**
 * Memory of a download for each byte that a chunk may have: the slices of the chunk, and beside them the pieces of the file that are
 * under way and the request that the chunk goes out in. Buffers come in powers of two.
 */
const MEMORY_PER_CHUNK = 2;
/** Part of that memory for the slices. */
const SLICES_PER_CHUNK = 1.5;

export class ResultFileSettler {
  readonly #shard: ShardContext;
  readonly #kind: ResultFileKind;

  constructor(shard: ShardContext, kind: ResultFileKind) {
    this.#shard = shard;
    this.#kind = kind;
  }

  /** @param download how often this job's results were downloaded since a download last settled something, this time included; only counted ones (DownloadAgain) */
  async settle(job: LiveJob, status: RemoteStatus, download: number): Promise<SettleOutcome> {
    const { context, signal } = this.#shard;
    return this.#shard.permitted('downloads', async () => {
      signal.throwIfAborted();
      const release = await this.#shard.saysWhy(
        'work_memory',
        context.budget.work(MEMORY_PER_CHUNK * context.options.chunk.maxBytes, signal),
      );
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
  { context, labels, logger }: ShardContext,
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
  readonly #shard: ShardContext;
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
  readonly #decisions: DecisionChunk;
  /** Slices that were read to their ends, and have rows in the chunk. */
  readonly #looked: ResultSlice[] = [];
  #lookedBytes = 0;
  #rows = 0;
  #malformed = 0;
  /** Why the first malformed row is none. */
  #firstMalformed: string | undefined;

  constructor(
    shard: ShardContext,
    kind: ResultFileKind,
    job: LiveJob,
    status: RemoteStatus,
    download: number,
  ) {
    this.#shard = shard;
    this.#kind = kind;
    this.#job = job;
    this.#status = status;
    this.#download = download;
    this.#before = job.left.clone();
    this.#fields = shard.fieldsOf(job);
    this.#decisions = new DecisionChunk(shard, job);
  }

  async run(): Promise<SettleOutcome> {
    try {
      return await this.#run();
    } finally {
      this.#release();
    }
  }

  async #run(): Promise<SettleOutcome> {
    const { context, signal } = this.#shard;
    const startedMs = context.clock.monotonic();
    let cut: ServiceError | undefined;
    const reading = this.#shard
      .spanOf(this.#job.record.id)
      .step('download', { 'content_review.download': this.#download });
    try {
      for await (const slice of context.waits.each(
        'download',
        this.#shard.who,
        this.#kind.results(this.#status, () => this.#shard.aboutJob(this.#job), signal),
      )) {
        await this.#read(slice);
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
    const readingMs = context.clock.monotonic() - startedMs - this.#decisions.publishingMs;
    context.metrics.observe(
      'stage_duration_seconds',
      { ...this.#shard.labels, stage: 'download' },
      readingMs / 1000,
    );
    await this.#flush();
    await settleAsLetters(this.#shard, this.#job, this.#decisions.refused, 'settle');
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

  /** Takes over the slice: it is released here, or with the chunk that has rows of it. */
  async #read(slice: ResultSlice): Promise<void> {
    try {
      this.#shard.signal.throwIfAborted();
      for (const other of slice.others) {
        this.#rows++;
        if ('malformed' in other) this.#drop(other);
        else if (this.#takes(other.partition, other.offset)) this.#decisions.refused.push(other);
      }
      for (let row = 0; row < slice.length; row++) {
        this.#rows++;
        this.#take(slice, row);
        if (this.#decisions.isFull) await this.#flush();
      }
    } finally {
      this.#looked.push(slice);
      this.#lookedBytes += slice.bytes.length;
    }
    // Rows that are dropped, and room behind the rows, hold memory as well.
    if (this.#decisions.length === 0) this.#release();
    else if (this.#shard.chunk.isFull(0, this.#lookedBytes / SLICES_PER_CHUNK)) await this.#flush();
  }

  #drop({ malformed, crash }: MalformedRow): void {
    this.#malformed++;
    this.#firstMalformed ??= malformed;
    this.#anomaly('malformed');
    if (crash !== undefined) this.#shard.context.internal.report('results', this.#fields, crash);
  }

  #take(slice: ResultSlice, row: number): void {
    const [partition, offset] = [slice.partition(row), slice.offset(row)];
    if (!this.#takes(partition, offset)) return;
    if (
      slice.isError(row) &&
      this.#job.record.attempt < this.#shard.context.options.review.errorRowAttempts
    ) {
      this.#taken.delete(partition, offset);
      this.#retriedErrors.add(partition, offset);
      return;
    }
    this.#decisions.addRow(slice, row);
  }

  /** Whether a row is the first of this pass about a record that is left; if so, the record is taken. */
  #takes(partition: number, offset: number): boolean {
    if (!this.#before.has(partition, offset)) {
      // Settled by an earlier pass (a restart downloads again), or never ours.
      if (!this.#job.everNamed(partition, offset)) this.#anomaly('unknown');
      return false;
    }
    if (!this.#retriedErrors.has(partition, offset) && this.#taken.add(partition, offset))
      return true;
    this.#anomaly('duplicate');
    return false;
  }

  async #flush(): Promise<void> {
    await this.#decisions.flush();
    this.#release();
  }

  /** Nothing in the chunk comes from them. */
  #release(): void {
    for (const slice of this.#looked.splice(0)) slice.release();
    this.#lookedBytes = 0;
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
    if (counted && this.#download > this.#shard.context.options.review.downloadRetries) {
      this.#anomaly('unreadable');
      return 'results_unreadable';
    }
    return { afterMs: Math.max(afterMs, cut.retryAfterMs ?? 0), counted };
  }

  /** The file is whole, yet rows are wanting: it may have been read before it was complete. */
  #afterShortFile(): SettleOutcome {
    const { context } = this.#shard;
    const expected = this.#status.expectedRows ?? this.#job.record.count;
    if (this.#rows < expected && this.#download <= context.options.review.downloadRetries)
      return { afterMs: 0, counted: true };
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
    this.#shard.context.metrics.count(
      'result_anomalies_total',
      { ...this.#shard.labels, kind },
      count,
    );
  }
}
