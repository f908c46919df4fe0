/** Balance of one source partition: each record in the range is counted in exactly one account. Pure functions. */
import { OffsetSet } from '../../core/offset-set.ts';
import { MAX_RESETS, type OutputGaps, type TerminalKind } from './outputs.ts';

// Account of a source record, by the rule that `audit` and `explain` share.

const ACCOUNTS = [
  ...(['decided', 'deadLettered', 'skipped', 'beforeStart'] as const),
  ...(['waiting', 'live', 'missing', 'unknown'] as const),
] as const;

export type Account = (typeof ACCOUNTS)[number];

/** Progress of a partition in its journal. The journal is read before the outputs. */
export interface JournalEvidence {
  /** W: every record below it is settled or in a live job. 0 if the pipeline has never claimed the partition. */
  readonly watermark: number;
  /** Offsets at or above W that are settled or in a live job. */
  readonly claimed: OffsetSet;
  readonly live: OffsetSet;
  /** First offset for which the pipeline is responsible. */
  readonly start: number;
  /** True if the group had committed `start` before this journal existed. */
  readonly isStartInherited: boolean;
  /** True if the group was reset. Records may have been skipped then, but the journal does not record which. */
  readonly wasReset: boolean;
}

/** Evidence from the outputs and the configuration. */
interface OutputEvidence extends OutputGaps {
  /** Returns true if the record was also missing in the previous reading. Only then does it count as missing. */
  readonly isSuspect: (offset: number) => boolean;
}

interface JudgedRecord {
  readonly offset: number;
  readonly timestampMs: number;
  /** See `InspectedPipeline`. Called only if it matters. */
  readonly isSkipped: () => boolean | undefined;
}

/** Reasons for not counting a record without a terminal record as missing. */
type UnknownReason = 'retention' | 'compaction' | 'reset' | 'journal' | 'moving' | 'filter';

export const UNKNOWN_REASONS: Readonly<Record<UnknownReason, string>> = {
  retention:
    'retention has removed the beginning of an output topic: older records may have had their terminal record there',
  compaction:
    'an output topic is compacted: a newer record with the same key may have replaced a terminal record',
  reset: 'the group was reset, which may have skipped records',
  journal:
    'the group had offsets when this journal was created: earlier records may have been under review in an earlier journal',
  moving: 'the journal was rewritten while it was read: run the command again',
  filter:
    'source.filter may have skipped records: only the running connector can evaluate it for values in this format',
};

/**
 * Returns the account of a record. A terminal record overrides the journal, because the outputs are
 * read later: a job that was live in the journal may have been settled since. A record is missing
 * only if it is settled in the journal and has no terminal record.
 * @param kind kind of the terminal record; `decision` if there are both a decision and a dead letter
 */
function accountOf(
  { offset, timestampMs, isSkipped }: JudgedRecord,
  kind: TerminalKind | undefined,
  journal: JournalEvidence,
  outputs: OutputEvidence,
): { readonly account: Account; readonly reason?: UnknownReason } {
  if (kind !== undefined) return { account: kind === 'decision' ? 'decided' : 'deadLettered' };
  if (journal.live.has(offset)) return { account: 'live' };
  if (offset >= journal.watermark && !journal.claimed.has(offset)) return { account: 'waiting' };
  const beforeStart = offset < journal.start;
  if (beforeStart && !journal.isStartInherited) return { account: 'beforeStart' };
  const skipped = isSkipped();
  if (skipped === true) return { account: 'skipped' };

  const doubts: readonly (readonly [UnknownReason, boolean])[] = [
    ['filter', skipped === undefined],
    ['reset', journal.wasReset],
    ['compaction', outputs.compacted],
    ['retention', timestampMs < outputs.completeSinceMs],
    ['journal', beforeStart],
    ['moving', !outputs.isSuspect(offset)],
  ];
  const reason = doubts.find(([, holds]) => holds)?.[0];
  return reason === undefined ? { account: 'missing' } : { account: 'unknown', reason };
}

/**
 * Number of records in each account. `records` is their sum. `double`: additional terminal records
 * with the same event id. `withoutSource`: terminal records whose source record was never
 * committed, or is no longer in a compacted source. `replayed`: terminal records after a reset
 * (event ids with #n).
 */
export type BalanceCounts = Readonly<
  Record<Account | 'records' | 'double' | 'withoutSource' | 'replayed', number>
>;

/** Returns the account of the only record in a range, or undefined if the range has no records. */
export const onlyAccount = (counts: BalanceCounts): Account | undefined =>
  ACCOUNTS.find((account) => counts[account] > 0);

/** Run of offsets, including both ends. */
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
  /** First offset of the range whose record may still get a terminal record, or `to` if there is none. */
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
  beforeStart: 0,
  waiting: 0,
  live: 0,
  missing: 0,
  unknown: 0,
  double: 0,
  withoutSource: 0,
  replayed: 0,
});

/** Builder: receives a source partition's terminal records, then its records. Takes a few bits per offset. */
export class BalanceBuilder {
  readonly range: SourceRange;
  readonly missing = new OffsetSet();
  readonly reasons = new Set<UnknownReason>();
  readonly #journal: JournalEvidence;
  readonly #counts = emptyCounts();
  readonly #settled = { decision: new OffsetSet(), dead_letter: new OffsetSet() };
  /** Offsets that have a terminal record, by number of resets. */
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

  /** Counts the next committed record of the range. */
  take(record: JudgedRecord, outputs: OutputEvidence): void {
    this.#committed.add(record.offset);
    const kind = this.#kindOf(record.offset);
    const { account, reason } = accountOf(record, kind, this.#journal, outputs);
    if (account === 'waiting' || account === 'live' || reason === 'moving')
      this.#firstOpen ??= record.offset;
    this.#counts.records++;
    this.#counts[account]++;
    if (account === 'missing') this.missing.add(record.offset);
    if (reason !== undefined) this.reasons.add(reason);
  }

  /** @param logStart first offset that is in the source now. Retention may since have removed records of the range */
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
