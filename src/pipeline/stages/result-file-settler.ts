/**
 * Settles finished jobs from their result files: streams the rows, collects decisions, and publishes
 * them chunk by chunk. Rows that settle nothing are counted and dropped (I2).
 */
import type { MalformedRow } from '../../core/bytes/result-row.ts';
import type { ResultSlice } from '../../core/bytes/result-slice.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import type { JobFailure } from '../../core/outcome/failure-row.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { RemoteStatus, ResultFileKind } from '../../core/ports/pipeline-kind.ts';
import { step } from '../context/batch-spans.ts';
import { jobContext, type ShardLife, type SourceAccess } from '../context/shard-context.ts';
import type { JobDecisions, TerminalWriter } from '../publish/terminal-writer.ts';
import type { FailureDetail } from './shard-stages.ts';
import type { JobSettler, Settled, Settler } from './tracker.ts';

/**
 * Memory of a download per byte of a chunk: the slices of the chunk, the pieces of the file in
 * flight and the request of the chunk. Buffers come in powers of two.
 */
const MEMORY_PER_CHUNK = 2;
/** Part of that memory for the slices. */
const SLICES_PER_CHUNK = 1.5;

/** Downloads of the results of one job. */
interface Downloads {
  /** Number of downloads since one of them last settled something. */
  counted: number;
  detail: FailureDetail | undefined;
}

export class ResultFileSettler implements Settler {
  readonly #shard: ShardLife & Pick<SourceAccess, 'budget'>;
  readonly #writer: TerminalWriter;
  readonly #kind: ResultFileKind;

  constructor(
    shard: ShardLife & Pick<SourceAccess, 'budget'>,
    writer: TerminalWriter,
    kind: ResultFileKind,
  ) {
    this.#shard = shard;
    this.#writer = writer;
    this.#kind = kind;
  }

  begin(job: LiveJob): JobSettler {
    const downloads: Downloads = { counted: 0, detail: undefined };
    return {
      settle: (status) => this.#settle(job, status, downloads),
      get detail() {
        return downloads.detail;
      },
    };
  }

  async #settle(job: LiveJob, status: RemoteStatus, downloads: Downloads): Promise<Settled> {
    const { budget, options, signal } = this.#shard;
    const bytes = MEMORY_PER_CHUNK * options.chunk.maxBytes;
    const memory = budget.reserve('work', bytes, signal);
    using _lease = await this.#shard.waits.during('memory', memory);
    const decisions = this.#writer.decisions(job, 'settle');
    using download = new Download(this.#shard, this.#kind, job, status, downloads, decisions);
    return await download.run();
  }
}

/** One download of a job's results. */
class Download implements Disposable {
  readonly #shard: ShardLife;
  readonly #kind: ResultFileKind;
  readonly #job: LiveJob;
  readonly #status: RemoteStatus;
  readonly #downloads: Downloads;
  readonly #decisions: JobDecisions;
  /** Records left at the beginning of the download: other rows were settled by an earlier one. */
  readonly #before: CoordinateSet;
  /** Records of the rows so far. */
  readonly #taken = new CoordinateSet();
  readonly #retriedErrors = new CoordinateSet();
  /** Fields of log lines, also after the span of the batch has ended. */
  readonly #fields: object;
  /** Slices that were read to the end and have rows in the chunk. */
  readonly #read: ResultSlice[] = [];
  #readBytes = 0;
  #rows = 0;
  #malformed = 0;
  /** Malformed rows whose signature is wrong or missing. */
  #forged = 0;
  /** Reason of the first malformed row. */
  #firstMalformed: string | undefined;

  constructor(
    shard: ShardLife,
    kind: ResultFileKind,
    job: LiveJob,
    status: RemoteStatus,
    downloads: Downloads,
    decisions: JobDecisions,
  ) {
    this.#shard = shard;
    this.#kind = kind;
    this.#job = job;
    this.#status = status;
    this.#downloads = downloads;
    this.#decisions = decisions;
    this.#before = job.left.clone();
    this.#fields = shard.report.fieldsOf(job);
  }

  async run(): Promise<Settled> {
    const { left } = this.#job;
    this.#downloads.counted++;
    const cut = await this.#download();
    // Also after a cut: these rows are valid, and the next download skips them.
    await this.#flush();
    await this.#decisions.end();

    if (this.#forged > 0)
      this.#shard.logger.error(
        { ...this.#fields, forged: this.#forged },
        'the result file has references that differ from the upload; their rows are ignored',
      );
    if (left.size === 0) {
      if (this.#malformed > 0) {
        const about = { malformed: this.#malformed, reason: this.#firstMalformed };
        this.#shard.logger.warn(
          { ...this.#fields, ...about },
          'the result file has malformed rows besides those of the batch',
        );
      }
      return { do: 'done' };
    }
    const settled = cut === undefined ? this.#afterShortFile() : this.#afterCut(cut);
    const counted = cut === undefined || reactionTo('results', cut.failure).counted;
    if (!counted) this.#downloads.counted--;
    // The download that settled something is the first of the next count.
    if (left.size < this.#before.size) this.#downloads.counted = counted ? 1 : 0;
    return settled;
  }

  /** @returns why the download ended early */
  async #download(): Promise<ServiceError | undefined> {
    const { clock, report, signal, waits } = this.#shard;
    const startedMs = clock.monotonic();
    const attributes = { 'content_review.download': this.#downloads.counted };
    const read = async () => {
      const decided = () => jobContext(this.#job, clock.now());
      const slices = this.#kind.results(this.#status, decided, signal);
      for await (const slice of waits.each('transfer', slices)) await this.#take(slice);
    };
    const done = () => ({ 'content_review.rows': this.#rows });
    let cut: ServiceError | undefined;
    try {
      await step(report.spans.of(this.#job), 'download', attributes, read, { done });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      cut = error;
    }
    report.since('download', startedMs + this.#decisions.publishingMs);
    return cut;
  }

  /** Takes over a slice: it is released here, or with the chunk that has rows of it. */
  async #take(slice: ResultSlice): Promise<void> {
    try {
      this.#shard.signal.throwIfAborted();
      for (const other of slice.others) {
        this.#rows++;
        if ('malformed' in other) this.#drop(other);
        else if (this.#isFirst(other.partition, other.offset))
          this.#decisions.refuse(other, other.poison);
      }
      for (let row = 0; row < slice.length; row++) {
        this.#rows++;
        this.#takeRow(slice, row);
        if (this.#decisions.isFull()) await this.#flush();
      }
    } finally {
      this.#read.push(slice);
      this.#readBytes += slice.bytes.length;
    }
    // Dropped rows, and room behind the rows, take memory as well.
    if (this.#decisions.length === 0) this[Symbol.dispose]();
    else if (this.#decisions.isFull(this.#readBytes / SLICES_PER_CHUNK)) await this.#flush();
  }

  #drop({ malformed, forged = false, crash }: MalformedRow): void {
    this.#malformed++;
    if (forged) this.#forged++;
    this.#firstMalformed ??= malformed;
    this.#anomaly(forged ? 'forged' : 'malformed');
    if (crash !== undefined) this.#shard.report.internal.report('results', this.#fields, crash);
  }

  #takeRow(slice: ResultSlice, row: number): void {
    const [partition, offset] = [slice.partition(row), slice.offset(row)];
    if (!this.#isFirst(partition, offset)) return;
    const { errorRowAttempts } = this.#shard.options.review;
    if (slice.outcome(row).isError && this.#job.record.attempt < errorRowAttempts) {
      this.#taken.delete(partition, offset);
      this.#retriedErrors.add(partition, offset);
    } else this.#decisions.addRow(slice, row);
  }

  /** Returns true for the first row of this download about a record that is left. */
  #isFirst(partition: number, offset: number): boolean {
    if (!this.#before.has(partition, offset)) {
      // Settled by an earlier download (a restart downloads again), or never in the job.
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
    this[Symbol.dispose]();
  }

  /** Releases the slices that were read: the chunk has no row of them any more. */
  [Symbol.dispose](): void {
    for (const slice of this.#read.splice(0)) slice.release();
    this.#readBytes = 0;
  }

  #afterCut(cut: ServiceError): Settled {
    const { counted, afterMs = 0 } = reactionTo('results', cut.failure);
    const { left } = this.#job;
    // Downloads of one batch mostly fail alike.
    if (this.#downloads.detail?.reason !== cut.message) {
      this.#shard.logger.warn(
        { ...this.#fields, error: cut.message, left: left.size },
        'result download ended early; retrying',
      );
    }
    this.#downloads.detail = { reason: cut.message };
    if (counted && this.#downloads.counted > this.#shard.options.review.downloadRetries) {
      this.#anomaly('unreadable');
      return { do: 'fail', as: 'results_unreadable' };
    }
    return { do: 'again', afterMs: Math.max(afterMs, cut.retryAfterMs ?? 0) };
  }

  /** The file is complete but rows are missing: it may have been read before it was complete. */
  #afterShortFile(): Settled {
    const { record, left } = this.#job;
    const isShort = this.#rows < (this.#status.expectedRows ?? record.count);
    if (isShort && this.#downloads.counted <= this.#shard.options.review.downloadRetries)
      return { do: 'again', afterMs: 0 };
    const missing = left.size - this.#retriedErrors.size;
    if (missing > 0) this.#anomaly('missing', missing);
    const [reason, malformed] = [this.#firstMalformed, this.#malformed];
    this.#downloads.detail = reason === undefined ? undefined : { reason, malformed };
    return { do: 'fail', as: this.#failure(reason !== undefined, isShort) };
  }

  #failure(hasMalformed: boolean, isShort: boolean): JobFailure {
    if (this.#retriedErrors.size > 0) return 'rows_failed';
    if (!hasMalformed) return 'rows_missing';
    // A quote that does not close may have swallowed the rows that are missing.
    return isShort ? 'results_unreadable' : 'rows_malformed';
  }

  #anomaly(kind: string, count = 1): void {
    this.#shard.report.count('result_anomalies_total', { kind }, count);
  }
}
