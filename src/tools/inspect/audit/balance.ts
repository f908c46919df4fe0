/** Balance of one source partition: each record in its range belongs to exactly one account. Pure. */
import { OffsetSet } from '../../../core/offsets/offset-set.ts';
import { MAX_RESETS, type TerminalKind } from '../outputs.ts';
import {
  type Account,
  accountOf,
  type JournalEvidence,
  type JudgedRecord,
  type OutputEvidence,
  type UnknownReason,
} from './account.ts';

/**
 * Records per account; `records` is their sum. `double`: further terminal records with the same
 * event id. `withoutSource`: terminal records whose source record was never committed, or is gone
 * from a compacted source. `replayed`: terminal records of reviews after a reset (event ids with #n).
 */
export type BalanceCounts = Readonly<
  Record<Account | 'records' | 'double' | 'withoutSource' | 'replayed', number>
>;

/** Run of offsets; both ends are included. */
export type OffsetRun = readonly [first: number, last: number];

const runsOf = (offsets: OffsetSet): OffsetRun[] =>
  Array.from(offsets.ranges(), ([from, to]) => [from, to - 1]);

/** Offsets [from, to) of a source partition. */
export interface SourceRange {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

export interface PartitionBalance extends SourceRange, BalanceCounts {
  /** First offset of the range that may still get a terminal record, or `to`. */
  readonly settledTo: number;
  readonly missingOffsets: readonly OffsetRun[];
  readonly doubleOffsets: readonly OffsetRun[];
  readonly withoutSourceOffsets: readonly OffsetRun[];
}

export const emptyCounts = (): Record<keyof BalanceCounts, number> => ({
  records: 0,
  decided: 0,
  deadLettered: 0,
  skipped: 0,
  passedOver: 0,
  beforeStart: 0,
  waiting: 0,
  live: 0,
  missing: 0,
  unknown: 0,
  double: 0,
  withoutSource: 0,
  replayed: 0,
});

/** Collects the terminal records of one source partition, then its records. A few bits per offset of the range. */
export class BalanceBuilder {
  readonly range: SourceRange;
  readonly missing = new OffsetSet();
  readonly reasons = new Set<UnknownReason>();
  readonly #journal: JournalEvidence;
  readonly #counts = emptyCounts();
  readonly #settled = { decision: new OffsetSet(), dead_letter: new OffsetSet() };
  /** Offsets with a terminal record, by replay count. */
  readonly #seen = new Map([[0, new OffsetSet()]]);
  readonly #double = new OffsetSet();
  readonly #committed = new OffsetSet();
  #firstOpen: number | undefined;

  constructor(range: SourceRange, journal: JournalEvidence) {
    this.range = range;
    this.#journal = journal;
  }

  addTerminal(kind: TerminalKind, offset: number, replay: number): void {
    if (offset < this.range.from || offset >= this.range.to) return;
    let seen = this.#seen.get(replay);
    if (seen === undefined && this.#seen.size < MAX_RESETS) {
      seen = new OffsetSet();
      this.#seen.set(replay, seen);
    }
    if (seen?.add(offset) === false) {
      this.#counts.double++;
      this.#double.add(offset);
      return;
    }
    if (replay > 0) this.#counts.replayed++;
    this.#settled[kind].add(offset);
  }

  #kindOf(offset: number): TerminalKind | undefined {
    if (this.#settled.decision.has(offset)) return 'decision';
    return this.#settled.dead_letter.has(offset) ? 'dead_letter' : undefined;
  }

  /** Judges a record without counting it. */
  judge(record: JudgedRecord, outputs: OutputEvidence): ReturnType<typeof accountOf> {
    return accountOf(record, this.#kindOf(record.offset), this.#journal, outputs);
  }

  /** Counts the next committed record of the range. */
  take(record: JudgedRecord, outputs: OutputEvidence): void {
    this.#committed.add(record.offset);
    const { account, reason } = this.judge(record, outputs);
    if (account === 'waiting' || account === 'live' || reason === 'moving')
      this.#firstOpen ??= record.offset;
    this.#counts.records++;
    this.#counts[account]++;
    if (account === 'missing') this.missing.add(record.offset);
    if (reason !== undefined) this.reasons.add(reason);
  }

  /** @param logStart first offset of the source now: retention may have removed records of the range meanwhile */
  finish(logStart: number): PartitionBalance {
    const withoutSource = new OffsetSet();
    for (const offsets of Object.values(this.#settled))
      for (const offset of offsets)
        if (offset >= logStart && !this.#committed.has(offset)) withoutSource.add(offset);
    return {
      ...this.range,
      ...this.#counts,
      settledTo: this.#firstOpen ?? this.range.to,
      withoutSource: withoutSource.size,
      missingOffsets: runsOf(this.missing),
      doubleOffsets: runsOf(this.#double),
      withoutSourceOffsets: runsOf(withoutSource),
    };
  }
}
