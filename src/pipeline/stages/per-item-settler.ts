/**
 * Settles finished jobs of kinds without a result file: reads the remaining records from the source
 * topic, obtains the outcome of each from the kind, and publishes them chunk by chunk.
 */
import { LogSeldom } from '../../base/log-limits.ts';
import { detached, detachedItem } from '../../core/batch/detached.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { ItemOutcome, PerItemKind, RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import { type ContentItem, type Poison, placeOf, type SourceRecord } from '../../core/record.ts';
import { jobContext, type ShardLife, type SourceAccess } from '../context/shard-context.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import type { DeadLetter, JobDecisions, TerminalWriter } from '../publish/terminal-writer.ts';
import { publishReread } from '../source/dead-letter-rereads.ts';
import { assertSameLog, readToDecode, SKIPPED, writtenBetween } from '../source/reread.ts';
import type { JobSettler, Settled, Settler } from './tracker.ts';

const GONE: Poison = {
  reason: 'source_unavailable',
  message:
    'the source topic no longer has this record, and its outcome cannot be determined without it',
};

export class PerItemSettler implements Settler {
  readonly #shard: ShardLife & SourceAccess;
  readonly #writer: TerminalWriter;
  readonly #kind: PerItemKind;
  readonly #log = new LogSeldom();

  constructor(shard: ShardLife & SourceAccess, writer: TerminalWriter, kind: PerItemKind) {
    this.#shard = shard;
    this.#writer = writer;
    this.#kind = kind;
  }

  begin(job: LiveJob): JobSettler {
    return { settle: (status, isLast) => this.#settle(job, status, isLast) };
  }

  /** Settles the items that have an outcome. @param isLast see PerItemKind.outcomes */
  async #settle(job: LiveJob, status: RemoteStatus, isLast: boolean): Promise<Settled> {
    const { budget, clock, logger, report, signal } = this.#shard;
    const { bytes, count } = job.record;
    // Each record takes memory as it was read, and again as it is published.
    const each = memoryOfItems(1, (2 * bytes) / Math.max(1, count));
    const most = Math.max(1, Math.floor(budget.rereadBytes / each));
    const decided = () => jobContext(job, clock.now());
    const fields = report.fieldsOf(job);
    let cut: ServiceError | undefined;
    for (const piece of pieces(job.left, most)) {
      const { items, unread, lease } = await this.#read(job, piece, each * piece.size);
      using _lease = lease;
      await this.#settleUnread(job, status, unread);
      // Also after a failure: one record without an answer must not block all behind it.
      const outcomes = this.#kind.outcomes(items, status, decided, signal, isLast);
      const failed = await this.#settleItems(job, outcomes);
      cut ??= failed;
    }

    if (job.left.size === 0) return { do: 'done' };
    const nowMs = clock.monotonic();
    if (cut !== undefined && this.#log.allows(`${cut.failure} ${cut.status}`, nowMs)) {
      const about = { ...fields, error: cut.message };
      logger.warn(about, 'could not get outcomes of records; retrying');
    }
    return { do: 'again', afterMs: 0, unanswered: cut };
  }

  /** Publishes outcomes chunk by chunk. @returns why they ended early */
  async #settleItems(
    job: LiveJob,
    outcomes: AsyncIterable<readonly ItemOutcome[]>,
  ): Promise<ServiceError | undefined> {
    const { report, signal, waits } = this.#shard;
    const fields = report.fieldsOf(job);
    const decisions = this.#writer.decisions(job, 'settle');
    let overdue = 0;
    let cut: ServiceError | undefined;
    try {
      for await (const some of waits.each('service', outcomes)) {
        signal.throwIfAborted();
        for (const one of some) {
          take(job, one, decisions);
          if (one.overdue === true) overdue++;
          if (decisions.isFull()) await decisions.flush();
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      cut = error;
    }
    await this.#end(job, decisions);
    if (overdue > 0) {
      const failure = 'review_timeout';
      report.count('jobs_failed_total', { reason: failure });
      this.#shard.logger.warn({ ...fields, failure, records: overdue }, 'batch failed');
    }
    return cut;
  }

  /** Reads and decodes records of a job. @param bytes memory that they take */
  async #read(job: LiveJob, piece: CoordinateSet, bytes: number) {
    const { options } = this.#shard;
    let items: ContentItem[] = [];
    let unread: Omit<DeadLetter, 'stage'>[] = [];
    let missing = piece;
    const decode = (record: SourceRecord) => {
      const { partition, offset } = record;
      assertSameLog(options, record, writtenBetween(job));
      missing.delete(partition, offset);
      const again = { type: job.record.type };
      const decoded = this.#kind.decode(record, job.replayOf(partition), again);
      if ('item' in decoded) items.push(detachedItem(decoded.item));
      else {
        const poison = 'poison' in decoded ? decoded.poison : SKIPPED;
        unread.push({ partition, offset, record: detached(record), poison });
      }
    };
    const lease = await readToDecode(this.#shard, bytes, () => {
      [items, unread, missing] = [[], [], piece.clone()];
      return {
        wanted: piece,
        found: (records, unreadable) => {
          for (const one of unreadable) {
            missing.delete(one.partition, one.offset);
            unread.push(one);
          }
          for (const record of records) decode(record);
        },
      };
    });
    for (const at of missing) unread.push({ ...at, poison: GONE });
    return { items, unread, lease };
  }

  async #settleUnread(
    job: LiveJob,
    status: RemoteStatus,
    unread: readonly Omit<DeadLetter, 'stage'>[],
  ): Promise<void> {
    const decisions = this.#writer.decisions(job, 'settle');
    const about = jobContext(job, this.#shard.clock.now());
    const records = new Map<string, SourceRecord>();
    for (const { partition, offset, poison, record } of unread) {
      const at = { partition, offset };
      if (record !== undefined) records.set(placeOf(at), record);
      const replay = job.replayOf(partition);
      const outcome = this.#kind.outcomeOf({ ...at, replay }, status, about);
      take(job, outcome ?? { ...at, poison }, decisions);
      if (decisions.isFull()) await decisions.flush();
    }
    await this.#end(job, decisions, records);
  }

  /**
   * Publishes the rest of the decisions, and dead letters of the refused ones.
   * @param records records at hand; others are read again, since few of them are needed
   */
  async #end(
    job: LiveJob,
    decisions: JobDecisions,
    records: ReadonlyMap<string, SourceRecord> = new Map(),
  ): Promise<void> {
    await decisions.flush();
    const written = writtenBetween(job);
    const due = decisions.refused
      .filter(({ partition, offset }) => job.left.has(partition, offset))
      .map((one) => ({ ...one, record: records.get(placeOf(one)), job, written }));
    const { true: others = [], false: atHand = [] } = Object.groupBy(
      due,
      (one) => `${one.record === undefined && this.#writer.mayRepeat(one, one.poison)}`,
    );
    await this.#writer.deadLetters(job, atHand);
    if (others.length > 0) await publishReread(this.#shard, this.#writer, others);
  }
}

function take(job: LiveJob, one: ItemOutcome, decisions: JobDecisions): void {
  if (!job.left.has(one.partition, one.offset)) return;
  if ('record' in one) {
    const { status, result, record } = one;
    decisions.add(one, { isError: status === 'error', result }, () => record);
  } else decisions.refuse(one, one.poison);
}

/** Copies of runs of a set's records, in order, with at most `most` each: the set may shrink. */
function* pieces(all: CoordinateSet, most: number): Generator<CoordinateSet> {
  let piece = new CoordinateSet();
  for (const { partition, offset } of all.clone()) {
    piece.add(partition, offset);
    if (piece.size < most) continue;
    yield piece;
    piece = new CoordinateSet();
  }
  if (piece.size > 0) yield piece;
}
