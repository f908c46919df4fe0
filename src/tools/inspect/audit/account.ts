/** Account of a source record: the one rule of `audit` and `explain`. Pure. */
import type { OffsetSet } from '../../../core/offsets/offset-set.ts';
import type { OutputGaps, TerminalKind } from '../outputs.ts';

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

/** Progress of a partition according to the journal, as it was read before the outputs. */
export interface JournalEvidence {
  /** Every offset below is settled or in a live job; 0 when the pipeline never claimed the partition. */
  readonly watermark: number;
  /** Offsets at or above the watermark that are settled or in a live job. */
  readonly claimed: OffsetSet;
  readonly live: OffsetSet;
  /** First offset that the pipeline is responsible for. */
  readonly start: number;
  /** The start was an offset of the group before this journal existed. */
  readonly isStartInherited: boolean;
  /** Offsets that a reset of the group skipped. */
  readonly passedOver: OffsetSet;
  readonly hasForgottenResets: boolean;
}

/** Evidence of outputs and configuration. */
export interface OutputEvidence extends OutputGaps {
  readonly skipsNullValues: boolean;
  /** The record was missing in the previous reading too: only then it is called missing. */
  readonly isSuspect: (offset: number) => boolean;
}

export interface JudgedRecord {
  readonly offset: number;
  readonly timestampMs: number;
  readonly hasValue: boolean;
  /** Returns true if the filter excludes it, undefined if that cannot be determined here. Called only if it matters. */
  readonly isFiltered?: (() => boolean | undefined) | undefined;
}

/** Reasons not to call a record without a terminal record missing. */
export type UnknownReason = 'retention' | 'compaction' | 'reset' | 'journal' | 'moving' | 'filter';

export const UNKNOWN_REASONS: Readonly<Record<UnknownReason, string>> = {
  retention:
    'retention has removed the beginning of an output topic: older records may have had their terminal record there',
  compaction:
    'an output topic is compacted: a newer record with the same key may have replaced a terminal record',
  reset: 'the group was reset, and the journal no longer shows which records that passed over',
  journal:
    'the group had offsets when this journal was created: an earlier journal may have had the records before them under review',
  moving: 'the journal was rewritten while it was read: run the command again',
  filter:
    'source.filter may have skipped records: only the running connector can evaluate it for values in this format',
};

/**
 * A terminal record overrides the journal, because the outputs were read after it: what was live
 * then may have settled. A record is missing only if the journal calls it settled and no output has it.
 * @param kind of the terminal record: a decision, if there are both
 */
export function accountOf(
  { offset, timestampMs, hasValue, isFiltered }: JudgedRecord,
  kind: TerminalKind | undefined,
  journal: JournalEvidence,
  outputs: OutputEvidence,
): { readonly account: Account; readonly reason?: UnknownReason } {
  if (kind !== undefined) return { account: kind === 'decision' ? 'decided' : 'deadLettered' };
  if (journal.live.has(offset)) return { account: 'live' };
  if (offset >= journal.watermark && !journal.claimed.has(offset)) return { account: 'waiting' };
  const beforeStart = offset < journal.start;
  if (beforeStart && !journal.isStartInherited) return { account: 'beforeStart' };
  if (journal.passedOver.has(offset)) return { account: 'passedOver' };
  if (!hasValue && outputs.skipsNullValues) return { account: 'skipped' };
  const filtered = hasValue && isFiltered !== undefined ? isFiltered() : false;
  if (filtered === true) return { account: 'skipped' };

  const doubts: readonly (readonly [UnknownReason, boolean])[] = [
    ['filter', filtered === undefined],
    ['reset', journal.hasForgottenResets],
    ['compaction', outputs.compacted],
    ['retention', timestampMs < outputs.completeSinceMs],
    ['journal', beforeStart],
    ['moving', !outputs.isSuspect(offset)],
  ];
  const reason = doubts.find(([, holds]) => holds)?.[0];
  return reason === undefined ? { account: 'missing' } : { account: 'unknown', reason };
}
