/** The balance of one source partition: each record in its range is put into exactly one account. Pure. */
import { OffsetSet } from '../../core/offsets/offset-set.ts';
import {
  accountOf,
  type JournalWord,
  type Limits,
  type TakenRecord,
  type Terminals,
  type UnknownReason,
} from './account.ts';
import { type OffsetRun, runsOf } from './offset-runs.ts';
import type { TerminalKind } from './terminal-scan.ts';

/** Counts add up: records = decided + deadLettered + skipped + passedOver + beforeStart + waiting + live + missing + unknown. */
export interface PartitionBalance {
  readonly partition: number;
  /** The range, [from, to). */
  readonly from: number;
  readonly to: number;
  /** Committed records in it. */
  readonly records: number;
  readonly decided: number;
  readonly deadLettered: number;
  /** Null values, and records that the filter does not want. */
  readonly skipped: number;
  /** Skipped by a reset of the group to a later offset. */
  readonly passedOver: number;
  /** Older than the pipeline's start. */
  readonly beforeStart: number;
  /** Not in a job yet: unread, or buffered. */
  readonly waiting: number;
  /** In a live job. */
  readonly live: number;
  readonly missing: number;
  /** Without a terminal record, and it can no longer be told why; see `notes` of the report. */
  readonly unknown: number;
  /** Terminal records too many: the same event id again. */
  readonly double: number;
  /** Terminal records whose source record was never committed, or is gone from a compacted source. */
  readonly withoutSource: number;
  /** Terminal records of reviews after a reset (event ids with #n); not double. */
  readonly replayed: number;
  readonly missingOffsets: readonly OffsetRun[];
  readonly doubleOffsets: readonly OffsetRun[];
  readonly withoutSourceOffsets: readonly OffsetRun[];
}

/** The terminal records of one source partition, as they are found. A few bits per offset of the range. */
export class TerminalTally implements Terminals {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly #decided = new OffsetSet();
  readonly #deadLettered = new OffsetSet();
  /** By replay count: offsets with a terminal record. */
  readonly #seen = new Map<number, OffsetSet>();
  readonly #double = new OffsetSet();
  #doubles = 0;
  #replayed = 0;
  #first: number | undefined;

  constructor(partition: number, from: number, to: number) {
    this.partition = partition;
    this.from = from;
    this.to = to;
  }

  add(kind: TerminalKind, offset: number, replay: number): void {
    this.#first = Math.min(this.#first ?? offset, offset);
    if (offset < this.from || offset >= this.to) return;
    let seen = this.#seen.get(replay);
    if (seen === undefined) {
      seen = new OffsetSet();
      this.#seen.set(replay, seen);
    }
    if (!seen.add(offset)) {
      this.#double.add(offset);
      this.#doubles++;
      return;
    }
    if (replay > 0) this.#replayed++;
    (kind === 'decision' ? this.#decided : this.#deadLettered).add(offset);
  }

  /** Smallest offset with a terminal record, outside the range too. */
  get first(): number | undefined {
    return this.#first;
  }

  /** Which kind settled it: a decision, if there is one. */
  kindOf(offset: number): TerminalKind | undefined {
    if (this.#decided.has(offset)) return 'decision';
    return this.#deadLettered.has(offset) ? 'dead_letter' : undefined;
  }

  get doubles(): {
    readonly count: number;
    readonly offsets: OffsetSet;
    readonly replayed: number;
  } {
    return { count: this.#doubles, offsets: this.#double, replayed: this.#replayed };
  }

  /** Terminal records for offsets that are not in `visible`. */
  without(visible: OffsetSet): OffsetSet {
    const without = new OffsetSet();
    for (const set of [this.#decided, this.#deadLettered])
      for (const one of set) if (!visible.has(one)) without.add(one);
    return without;
  }
}

/** Nothing in any account yet. */
export const emptyCounts = () => ({
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
});

/** Puts the source records of one partition, given in order, into their accounts. */
export class BalanceBuilder {
  readonly #tally: TerminalTally;
  readonly #journal: JournalWord;
  readonly #limits: Limits;
  readonly #visible = new OffsetSet();
  readonly #missing = new OffsetSet();
  readonly #counts = emptyCounts();
  readonly reasons = new Set<UnknownReason>();

  constructor(tally: TerminalTally, journal: JournalWord, limits: Limits) {
    this.#tally = tally;
    this.#journal = journal;
    this.#limits = limits;
  }

  /** Takes the next committed record of the range. */
  take(record: TakenRecord): void {
    this.#visible.add(record.offset);
    this.#counts.records++;
    const { account, reason } = accountOf(record, this.#tally, this.#journal, this.#limits);
    this.#counts[account]++;
    if (account === 'missing') this.#missing.add(record.offset);
    if (reason !== undefined) this.reasons.add(reason);
  }

  get missing(): OffsetSet {
    return this.#missing;
  }

  /** @param logStart the source's first offset now: retention may have removed records of the range since it was chosen. */
  finish(logStart: number): PartitionBalance {
    const { partition, from, to, doubles } = this.#tally;
    const without = this.#tally.without(this.#visible);
    without.dropBelow(logStart);
    return {
      partition,
      from,
      to,
      ...this.#counts,
      double: doubles.count,
      withoutSource: without.size,
      replayed: doubles.replayed,
      missingOffsets: runsOf(this.#missing),
      doubleOffsets: runsOf(doubles.offsets),
      withoutSourceOffsets: runsOf(without),
    };
  }
}
