/** Into which account a source record goes: the one rule of `audit` and `explain`. Pure. */
import type { OutputGaps } from './output-gaps.ts';
import type { TerminalKind } from './terminal-scan.ts';

export type Account =
  | 'decided'
  | 'deadLettered'
  | 'skipped'
  | 'passedOver'
  | 'beforeStart'
  | 'waiting'
  | 'live'
  | 'missing'
  | 'unknown';

/** What the journal says about a partition, as it was read before the outputs. */
export interface JournalWord {
  /** Every offset below is settled or in a live job; 0 when the pipeline never claimed the partition. */
  readonly watermark: number;
  /** Whether an offset at or above the watermark is settled or in a live job. */
  readonly isClaimed: (offset: number) => boolean;
  readonly isLive: (offset: number) => boolean;
  /** The first offset that the pipeline answers for; undefined when the journal no longer tells. */
  readonly start: number | undefined;
  /** That offset was the group's before this journal was made. */
  readonly isStartInherited: boolean;
  readonly isPassedOver: (offset: number) => boolean;
  readonly hasForgottenResets: boolean;
}

/** What outputs and journal can no longer tell. */
export interface Limits extends OutputGaps {
  readonly skipsNullValues: boolean;
  /** Whether a record was missing when it was looked at before. Only then it is called so. */
  readonly isSuspect: (offset: number) => boolean;
}

/** What the outputs have of one source partition. */
export interface Terminals {
  /** Smallest offset with a terminal record. */
  readonly first: number | undefined;
  /** Which kind settled it: a decision, if there is one. */
  kindOf(offset: number): TerminalKind | undefined;
}

export interface TakenRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly hasValue: boolean;
  /** Whether the configuration's filter does not want it; undefined when that cannot be told here. Asked only when it matters. */
  readonly isFiltered?: (() => boolean | undefined) | undefined;
}

/** Why a record without a terminal record is not called missing. */
export type UnknownReason =
  | 'retention'
  | 'compaction'
  | 'reset'
  | 'start'
  | 'journal'
  | 'moving'
  | 'filter';

export const REASONS: Readonly<Record<UnknownReason, string>> = {
  retention:
    'retention has removed the beginning of an output topic: older records may have had their terminal record there',
  compaction:
    'an output topic is compacted: a newer record with the same key may have replaced a terminal record',
  reset: 'the group was reset, and the journal no longer tells which records that passed over',
  start: 'the journal does not tell where the pipeline began: it was written by an older version',
  journal:
    'the group had offsets when this journal was made: an earlier journal may have had the records before them under review',
  moving: 'the journal was rewritten while it was read: ask again',
  filter:
    'source.filter may have skipped records: what it says of values in this format only the running connector can tell',
};

/**
 * A terminal record is believed before the journal, because the outputs were read after it: what was live then may be
 * settled since. Only what the journal calls settled, and no output shows, is missing.
 */
export function accountOf(
  { offset, timestampMs, hasValue, isFiltered }: TakenRecord,
  terminals: Terminals,
  journal: JournalWord,
  limits: Limits,
): { readonly account: Account; readonly reason?: UnknownReason } {
  const kind = terminals.kindOf(offset);
  if (kind !== undefined) return { account: kind === 'decision' ? 'decided' : 'deadLettered' };
  if (journal.isLive(offset)) return { account: 'live' };
  if (offset >= journal.watermark && !journal.isClaimed(offset)) return { account: 'waiting' };
  const beforeStart = journal.start !== undefined && offset < journal.start;
  if (beforeStart && !journal.isStartInherited) return { account: 'beforeStart' };
  if (journal.isPassedOver(offset)) return { account: 'passedOver' };
  if (!hasValue && limits.skipsNullValues) return { account: 'skipped' };
  const filtered = hasValue && isFiltered !== undefined ? isFiltered() : false;
  if (filtered !== false)
    return filtered === true ? { account: 'skipped' } : { account: 'unknown', reason: 'filter' };
  const beforeAll = terminals.first === undefined || offset < terminals.first;
  if (journal.hasForgottenResets) return { account: 'unknown', reason: 'reset' };
  if (limits.compacted) return { account: 'unknown', reason: 'compaction' };
  if (timestampMs < limits.completeSinceMs) return { account: 'unknown', reason: 'retention' };
  if (beforeStart) return { account: 'unknown', reason: 'journal' };
  if (journal.start === undefined && beforeAll) return { account: 'unknown', reason: 'start' };
  return limits.isSuspect(offset)
    ? { account: 'missing' }
    : { account: 'unknown', reason: 'moving' };
}
