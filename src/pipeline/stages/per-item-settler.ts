/**
 * Settles finished jobs that have no result file (PerItemKind): reads what is left of the job from the source topic, asks the kind
 * what became of it, and publishes chunk by chunk as the ResultFileSettler does (DESIGN 3 'Settle', 'RereadQueue').
 */

import { Seldom } from '../../base/seldom.ts';
import { detached, detachedItem } from '../../core/batch/detached.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type {
  ItemOutcome,
  JobContext,
  PerItemKind,
  RemoteStatus,
} from '../../core/ports/pipeline-kind.ts';
import { type ContentItem, type Poison, placeOf, type SourceRecord } from '../../core/record.ts';
import type { ShardContext } from '../context/shard-context.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import { type Due, mayBeWhole, settleAsLetters } from '../publish/dead-letters.ts';
import { DecisionChunk } from '../publish/decision-chunk.ts';
import {
  assertSameLog,
  readAgain,
  readToDecode,
  type UnreadableRecord,
  writtenBetween,
} from '../source/reread.ts';
import { jobSettled, type SettleOutcome } from './result-file-settler.ts';

const GONE: Poison = {
  reason: 'source_unavailable',
  message:
    'the source topic no longer has this record, and without it nothing can be said about it',
};

export class PerItemSettler {
  readonly #shard: ShardContext;
  readonly #kind: PerItemKind;
  readonly #log = new Seldom();

  constructor(shard: ShardContext, kind: PerItemKind) {
    this.#shard = shard;
    this.#kind = kind;
  }

  /** Settles what is through. @param last see PerItemKind.outcomes @returns when to ask for the rest */
  async settle(job: LiveJob, status: RemoteStatus, last: boolean): Promise<SettleOutcome> {
    const { context, signal } = this.#shard;
    const startedMs = context.clock.monotonic();
    const fields = this.#shard.fieldsOf(job);
    const cut = await this.#shard.permitted('downloads', async () => {
      signal.throwIfAborted();
      this.#shard.status(job).phase = 'settling';
      try {
        return await this.#pass(job, status, last);
      } finally {
        const still = this.#shard.jobs.get(job.record.id);
        if (still?.phase === 'settling') still.phase = 'reviewing';
      }
    });
    if (job.left.size === 0) {
      jobSettled(this.#shard, job, fields, startedMs, job.record.count);
      return 'done';
    }
    if (
      cut !== undefined &&
      this.#log.allows(`${cut.failure} ${cut.status}`, context.clock.monotonic())
    )
      this.#shard.logger.warn(
        { ...fields, error: cut.message },
        'could not ask what became of records; trying again',
      );
    return { afterMs: 0, counted: false, unanswered: cut };
  }

  /** Once over what is left, in pieces that memory has room for. @returns why some of it could not be asked for */
  async #pass(
    job: LiveJob,
    status: RemoteStatus,
    last: boolean,
  ): Promise<ServiceError | undefined> {
    const { context, signal } = this.#shard;
    const { budget } = context;
    const { bytes, count } = job.record;
    // Each record is held once as it was read, and once as it is published.
    const each = memoryOfItems(1, (2 * bytes) / Math.max(1, count));
    const most = Math.max(1, Math.floor(budget.rewindBytes / each));
    let cut: ServiceError | undefined;
    for (const piece of pieces(job.left, most)) {
      const { items, unread, release } = await this.#read(job, piece, each * piece.size);
      try {
        const about = () => this.#shard.aboutJob(job);
        await this.#settleUnread(job, status, unread, about());
        // Other pieces may fare better: one record that the service cannot answer for must not hold up all behind it.
        const ended = await this.#ask(job, this.#kind.outcomes(items, status, about, signal, last));
        cut ??= ended;
      } finally {
        release();
      }
    }
    return cut;
  }

  /** Publishes what became of the items, a chunk at a time. @returns why it ended early */
  async #ask(
    job: LiveJob,
    outcomes: AsyncIterable<readonly ItemOutcome[]>,
  ): Promise<ServiceError | undefined> {
    const { context, signal, who } = this.#shard;
    const decisions = new DecisionChunk(this.#shard, job);
    let overdue = 0;
    let cut: ServiceError | undefined;
    try {
      for await (const some of context.waits.each('service_unavailable', who, outcomes)) {
        signal.throwIfAborted();
        for (const one of some) {
          this.#take(job, one, decisions);
          if (one.overdue === true) overdue++;
          if (decisions.isFull) await decisions.flush();
        }
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      cut = error;
    }
    // Also after a cut: what was said before counts.
    const fields = this.#shard.fieldsOf(job);
    await this.#settleAll(job, decisions);
    if (overdue > 0) {
      const failure = 'review_timeout';
      context.metrics.count('jobs_failed_total', { ...this.#shard.labels, reason: failure });
      this.#shard.logger.warn(
        { ...fields, failure, records: overdue },
        'a batch did not end with a decision for each record',
      );
    }
    return cut;
  }

  /** @param bytes of memory, to be given back by `release` */
  async #read(job: LiveJob, piece: CoordinateSet, bytes: number) {
    let items: ContentItem[] = [];
    let unread: Due[] = [];
    let missing = piece;
    const found = (records: readonly SourceRecord[], unreadable: readonly UnreadableRecord[]) => {
      for (const { partition, offset } of unreadable) missing.delete(partition, offset);
      unread.push(...unreadable);
      for (const record of records) {
        const { partition, offset } = record;
        assertSameLog(this.#shard.context.options, record, writtenBetween(job));
        missing.delete(partition, offset);
        const decoded = this.#kind.decode(record, job.replayOf(partition), {
          type: job.record.type,
        });
        if ('item' in decoded) {
          items.push(detachedItem(decoded.item));
        } else {
          const skipped: Poison = {
            reason: 'source_unavailable',
            message: 'configuration skips this record now',
          };
          unread.push({
            partition,
            offset,
            record: detached(record),
            poison: 'poison' in decoded ? decoded.poison : skipped,
          });
        }
      }
    };
    const release = await readToDecode(this.#shard, bytes, () => {
      [items, unread, missing] = [[], [], piece.clone()];
      return { wanted: piece, found };
    });
    for (const at of missing) unread.push({ ...at, poison: GONE });
    return { items, unread, release };
  }

  #take(job: LiveJob, one: ItemOutcome, decisions: DecisionChunk): void {
    const { partition, offset } = one;
    if (!job.left.has(partition, offset)) return;
    if ('record' in one) decisions.add(one, one.status === 'error', one.result, () => one.record);
    else decisions.refused.push({ partition, offset, poison: one.poison });
  }

  /** Publishes what was taken. @param records of dead letters, as far as they are at hand: others are read once more, since hardly any is needed */
  async #settleAll(
    job: LiveJob,
    decisions: DecisionChunk,
    records: ReadonlyMap<string, SourceRecord> = new Map(),
  ): Promise<void> {
    await decisions.flush();
    const due = decisions.refused
      .filter(({ partition, offset }) => job.left.has(partition, offset))
      .map((one): Due => ({ ...one, record: records.get(placeOf(one)) }));
    const isAtHand = (one: Due) =>
      one.record !== undefined || !mayBeWhole(this.#shard, one, one.poison);
    const [atHand, others] = [due.filter(isAtHand), due.filter((one) => !isAtHand(one))];
    await settleAsLetters(this.#shard, job, atHand, 'settle');
    await this.#settleReadAgain(job, others);
  }

  async #settleUnread(
    job: LiveJob,
    status: RemoteStatus,
    unread: readonly Due[],
    about: JobContext,
  ): Promise<void> {
    const decisions = new DecisionChunk(this.#shard, job);
    for (const { partition, offset, poison } of unread) {
      const at = { partition, offset };
      const outcome = this.#kind.outcomeOf(
        { ...at, replay: job.replayOf(partition) },
        status,
        about,
      );
      this.#take(job, outcome ?? { ...at, poison }, decisions);
      if (decisions.isFull) await decisions.flush();
    }
    const records = unread.flatMap((one) =>
      one.record === undefined ? [] : [[placeOf(one), one.record] as const],
    );
    await this.#settleAll(job, decisions, new Map(records));
  }

  /** One fetched part at a time: nobody has counted the size of these records. */
  async #settleReadAgain(job: LiveJob, due: readonly Due[]): Promise<void> {
    if (due.length === 0) return;
    const left = new Map(due.map((one) => [placeOf(one), one]));
    await readAgain(this.#shard, CoordinateSet.of(due), async (records) => {
      const found = records.flatMap((record): Due[] => {
        const one = left.get(placeOf(record));
        assertSameLog(this.#shard.context.options, record, writtenBetween(job));
        return one === undefined ? [] : [{ ...one, record }];
      });
      for (const one of found) left.delete(placeOf(one));
      await settleAsLetters(this.#shard, job, found, 'settle');
    });
    await settleAsLetters(this.#shard, job, [...left.values()], 'settle');
  }
}

/** Runs of a set's records, in order, of at most so many each. A copy: the set may shrink meanwhile. */
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
