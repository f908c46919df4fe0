/**
 * Settles a finished job of a kind without result files. Rereads the job's remaining records from
 * the source topic, and requests their outcomes from the kind.
 */

import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { BrokenRow, ItemRow } from '../../core/bytes/result-slice.ts';
import { SliceWriter } from '../../core/bytes/slice-writer.ts';
import { CoordinateSet, type LiveJob } from '../../core/journal/job.ts';
import type { PerItemKind, RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import { jobContext, type ShardContext } from '../context/shard-context.ts';
import type { TerminalWriter } from '../context/terminal-writer.ts';
import { memoryOfItems } from '../limits/memory-budget.ts';
import { type ItemsRead, readItems } from '../source/read-items.ts';
import { PATIENCE_MS, UnpreparedError, untilReadable, writtenBetween } from '../source/reread.ts';
import { Settlement } from './settlement.ts';
import type { JobSettler, Settled } from './tracker.ts';

export class PerItemSettler implements JobSettler {
  readonly #shard: ShardContext;
  readonly #writer: TerminalWriter;
  readonly #kind: PerItemKind;
  readonly #job: LiveJob;

  constructor(shard: ShardContext, writer: TerminalWriter, kind: PerItemKind, job: LiveJob) {
    this.#shard = shard;
    this.#writer = writer;
    this.#kind = kind;
    this.#job = job;
  }

  /** Settles the items that have an outcome. @param isLast parameter `last` of PerItemKind.outcomes */
  async settle(status: RemoteStatus, isLast: boolean): Promise<Settled> {
    const job = this.#job;
    const { budget, clock, logger, report, signal, waits } = this.#shard;
    const { bytes, count } = job.record;
    // Each record takes memory twice: as an item, and as a terminal record.
    const each = memoryOfItems(1, (2 * bytes) / Math.max(1, count));
    const most = Math.max(1, Math.floor(budget.rereadBytes / each));
    const decided = () => jobContext(job, clock.now());
    const fields = report.fieldsOf(job);
    let overdue = 0;
    let cut: ServiceError | undefined;
    for (const piece of pieces(job.left, most)) {
      const { items, failed, lease } = await this.#read(piece, each * piece.size);
      using _lease = lease;
      using settlement = new Settlement(this.#shard, this.#writer, job, 'settle');
      const take = async (rows: readonly ItemRow[]) => {
        overdue += rows.filter((row) => row.overdue).length;
        await settlement.take(SliceWriter.sliceOf(rows), (...at) => job.left.has(...at));
      };
      await take(failed.map((one) => this.#rowOf(one, status)));
      await settlement.end();
      try {
        const outcomes = this.#kind.outcomes(items, status, decided, signal, isLast);
        for await (const rows of waits.each('service', outcomes)) {
          signal.throwIfAborted();
          await take(rows);
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ServiceError)) throw error;
        // Continues with the next piece, because a record without an outcome must not block later records.
        cut ??= error;
      }
      await settlement.end();
    }

    if (overdue > 0) {
      const failure = 'review_timeout';
      report.count('jobs_failed_total', { reason: failure });
      logger.warn({ ...fields, failure, records: overdue }, 'batch failed');
    }
    if (job.left.size === 0) return { do: 'done' };
    return { do: 'again', afterMs: 0, unanswered: cut };
  }

  /** Rereads and decodes records of the job. @param bytes memory to reserve for them */
  async #read(records: CoordinateSet, bytes: number) {
    const { budget, signal, waits } = this.#shard;
    const job = this.#job;
    const wanted = { type: job.record.type, records, written: writtenBetween(job), from: job };
    for (let patienceMs = PATIENCE_MS; ; ) {
      const lease = await waits.during('memory', budget.reserve('reread', bytes, signal));
      try {
        const [read] = await readItems(this.#shard, [wanted], patienceMs);
        return { ...(read as ItemsRead), lease };
      } catch (error) {
        lease[Symbol.dispose]();
        if (error instanceof UnpreparedError) patienceMs *= 2;
        await untilReadable(this.#shard, error);
      }
    }
  }

  #rowOf({ partition, offset, poison }: BrokenRow, status: RemoteStatus): ItemRow {
    const job = this.#job;
    const at = { partition, offset };
    const about = jobContext(job, this.#shard.clock.now());
    const row = this.#kind.outcomeOf({ ...at, replay: job.replayOf(partition) }, status, about);
    return row ?? { ...at, poison };
  }
}

/** Yields copies of parts of a set, with at most `most` records each. The set may shrink meanwhile. */
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
