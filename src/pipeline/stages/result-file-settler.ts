/**
 * Settles a finished job from its result file. If rows are missing, the file is downloaded again.
 * Rows that settle nothing are dropped, and anomalies are counted (I2).
 */
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { MalformedRow, ResultSlice } from '../../core/bytes/result-slice.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { reactionTo } from '../../core/outcome/failure-policy.ts';
import type { JobFailure } from '../../core/outcome/failure-table.ts';
import {
  type RemoteStatus,
  type ResultFileKind,
  UnendedRows,
} from '../../core/ports/pipeline-kind.ts';
import { step } from '../context/batch-spans.ts';
import { jobContext, type ShardContext } from '../context/shard-context.ts';
import type { TerminalWriter } from '../context/terminal-writer.ts';
import { Settlement } from './settlement.ts';
import type { FailureDetail } from './shard-stages.ts';
import type { JobSettler, Settled } from './tracker.ts';

/**
 * Memory of a download as a multiple of a chunk's bytes. It covers the slices of the chunk, pieces
 * of the file in flight, and the produce request for the chunk.
 */
const MEMORY_PER_CHUNK = 2;

export class ResultFileSettler implements JobSettler {
  readonly #shard: ShardContext;
  readonly #writer: TerminalWriter;
  readonly #kind: ResultFileKind;
  readonly #job: LiveJob;
  /** Number of counted downloads since the last one that settled something, which is included. */
  #downloads = 0;
  readonly #unended = new UnendedRows();
  detail: FailureDetail | undefined;

  constructor(shard: ShardContext, writer: TerminalWriter, kind: ResultFileKind, job: LiveJob) {
    this.#shard = shard;
    this.#writer = writer;
    this.#kind = kind;
    this.#job = job;
  }

  async settle(status: RemoteStatus): Promise<Settled> {
    const { budget, options, report, signal, waits } = this.#shard;
    const { left } = this.#job;
    const bytes = MEMORY_PER_CHUNK * options.chunk.maxBytes;
    using lease = await waits.during('memory', budget.reserve('work', bytes, signal));
    const onHeld = (held: number) => lease.resize(bytes + held);
    using settlement = new Settlement(this.#shard, this.#writer, this.#job, 'settle');
    // Read before settling, because log lines need them after the batch's span has ended.
    const fields = report.fieldsOf(this.#job);
    const rows = new DownloadedRows(this.#shard, this.#job, fields);
    const before = left.size;
    this.#downloads++;
    const cut = await this.#download(status, rows, settlement, onHeld);
    // Publishes the rows even if the download was cut, because they are valid. The next download skips them.
    await settlement.end();

    rows.report();
    if (left.size === 0) return { do: 'done' };
    const settled =
      cut === undefined ? this.#afterShortFile(rows, status) : this.#afterCut(cut, fields);
    const counted = cut === undefined || reactionTo('results', cut.failure).counted;
    if (!counted) this.#downloads--;
    // A download that settled something restarts the count as the first download.
    if (left.size < before) this.#downloads = counted ? 1 : 0;
    return settled;
  }

  /** @returns the error if the download ended early, otherwise undefined */
  async #download(
    status: RemoteStatus,
    rows: DownloadedRows,
    settlement: Settlement,
    onHeld: (bytes: number) => void,
  ): Promise<ServiceError | undefined> {
    const { clock, report, signal, waits } = this.#shard;
    const startedMs = clock.monotonic();
    const attributes = { 'content_review.download': this.#downloads };
    const isWanted = (partition: number, offset: number) => rows.isWanted(partition, offset);
    const read = async () => {
      const decided = () => jobContext(this.#job, clock.now());
      const unended = this.#unended;
      const slices = this.#kind.results(status, decided, signal, { onHeld, unended });
      for await (const slice of waits.each('transfer', slices)) {
        rows.count(slice);
        await settlement.take(slice, isWanted);
      }
    };
    const done = () => ({ 'content_review.rows': rows.all });
    let cut: ServiceError | undefined;
    try {
      await step(report.spans.of(this.#job), 'download', attributes, read, { done });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      cut = error;
    }
    report.since('download', startedMs + settlement.publishingMs);
    return cut;
  }

  #afterCut(cut: ServiceError, fields: object): Settled {
    const { logger, options, report } = this.#shard;
    const { counted, afterMs = 0 } = reactionTo('results', cut.failure);
    // Logged once, because repeated downloads of a batch usually fail in the same way.
    if (this.detail?.reason !== cut.message) {
      const about = { ...fields, error: cut.message, left: this.#job.left.size };
      logger.warn(about, 'could not read the result file; downloading it again');
    }
    this.detail = { reason: cut.message };
    if (counted && this.#downloads > options.downloadRetries) {
      report.count('result_anomalies_total', { kind: 'unreadable' });
      return { do: 'fail', as: 'results_unreadable' };
    }
    return { do: 'again', afterMs: Math.max(afterMs, cut.retryAfterMs ?? 0) };
  }

  /** Handles a file that ended properly but lacks rows. It may have been read too early. */
  #afterShortFile(rows: DownloadedRows, { expectedRows }: RemoteStatus): Settled {
    const { options, report } = this.#shard;
    const { record, left } = this.#job;
    const isShort = rows.all < (expectedRows ?? record.count);
    if (isShort && this.#downloads <= options.downloadRetries) return { do: 'again', afterMs: 0 };
    report.count('result_anomalies_total', { kind: 'missing' }, left.size);
    this.detail = rows.malformed;
    return { do: 'fail', as: failureOf(rows, isShort) };
  }
}

function failureOf({ malformed }: DownloadedRows, isShort: boolean): JobFailure {
  if (malformed === undefined) return 'rows_missing';
  // An unclosed quote may have turned the missing rows into part of a cell.
  return isShort ? 'results_unreadable' : 'rows_malformed';
}

/** Counts of the rows of one download and of their anomalies. */
class DownloadedRows {
  readonly #shard: ShardContext;
  readonly #job: LiveJob;
  readonly #fields: object;
  /** Remaining records at the start of the download. Earlier downloads settled the others. */
  readonly #before: CoordinateSet;
  /** Records whose row has been read in this download. */
  readonly #taken = new CoordinateSet();
  /** Number of all rows in the file. */
  all = 0;
  /** Reason of the first malformed row, and the number of malformed rows. */
  malformed: Required<FailureDetail> | undefined;
  /** Number of malformed rows whose seal is wrong or missing. */
  #forged = 0;

  constructor(shard: ShardContext, job: LiveJob, fields: object) {
    this.#shard = shard;
    this.#job = job;
    this.#fields = fields;
    this.#before = job.left.clone();
  }

  count({ length, others }: ResultSlice): void {
    this.all += length + others.length;
    for (const other of others) if ('malformed' in other) this.#drop(other);
  }

  /** Returns true for the first row of each record that is not settled. */
  isWanted(partition: number, offset: number): boolean {
    // An earlier download settled the record, perhaps before a restart.
    if (!this.#before.has(partition, offset)) return false;
    if (this.#taken.add(partition, offset)) return true;
    this.#anomaly('duplicate');
    return false;
  }

  /** Logs forged rows. Also logs malformed rows if all records are settled without them. */
  report(): void {
    const { logger } = this.#shard;
    if (this.#forged > 0)
      logger.error(
        { ...this.#fields, forged: this.#forged },
        'the result file has references that differ from the upload; their rows are ignored',
      );
    if (this.#job.left.size === 0 && this.malformed !== undefined)
      logger.warn(
        { ...this.#fields, ...this.malformed },
        'the result file has malformed rows in addition to the rows of the batch',
      );
  }

  #drop({ malformed: reason, forged = false, crash }: MalformedRow): void {
    this.malformed = {
      reason: this.malformed?.reason ?? reason,
      malformed: (this.malformed?.malformed ?? 0) + 1,
    };
    if (forged) this.#forged++;
    this.#anomaly(forged ? 'forged' : 'malformed');
    if (crash !== undefined) this.#shard.report.internal.report('results', this.#fields, crash);
  }

  #anomaly(kind: string): void {
    this.#shard.report.count('result_anomalies_total', { kind });
  }
}
