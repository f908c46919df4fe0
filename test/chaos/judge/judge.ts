/**
 * The promise, checked from the outside, for pipelines of every kind: what went into the source topic against what a
 * read_committed consumer finds in the output topics, and what is left in the journal.
 */
import type { GroupPosition } from '../../support/stack/stack-control.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import type { Ledger } from '../harness/observe/ledger.ts';
import type { Complaints } from './complaints.ts';
import { at, type Ground, judgeDeadLetter, judgeOutput, type Produced } from './judge-records.ts';

export interface Evidence {
  readonly ground: Ground;
  /** Every committed record of the source. */
  readonly produced: readonly Produced[];
  /** Everything that a read_committed consumer sees of the output topic. */
  readonly outputs: readonly ReadRecord[];
  readonly deadLetters: readonly ReadRecord[];
  /** Has been told of all of them. */
  readonly ledger: Pick<Ledger, 'missing' | 'violations'>;
}

/** Unfinished work of a pipeline. */
export interface Remains {
  /** Keys of live jobs. */
  readonly live: readonly string[];
  readonly group: readonly GroupPosition[];
}

export function judge(
  { ground, produced, outputs, deadLetters, ledger }: Evidence,
  { live, group }: Remains,
  verdict: Complaints,
): void {
  for (const key of live) verdict.add('is still live in the journal', key);
  for (const { partition, committed, end } of group) {
    if (committed !== end)
      verdict.add('is not committed to its end', `partition ${partition} (${committed} of ${end})`);
  }
  for (const where of ledger.missing()) verdict.add('has no terminal record', where);
  for (const { kind, where } of ledger.violations)
    verdict.add(`has a terminal record: ${kind}`, where);
  const events = new Map(produced.map((event) => [at(event), event]));
  for (const record of outputs) judgeOutput(ground, record, events, verdict);
  for (const record of deadLetters) judgeDeadLetter(ground, record, events, verdict);
}

/** Keys of jobs, and of what is left of them, whose newest value is not a tombstone. */
export function liveJobKeys(journal: readonly ReadRecord[]): string[] {
  const live = new Set<string>();
  for (const { key, value } of journal) {
    const name = String(key);
    if (!name.startsWith('job/')) continue;
    if (value === null) live.delete(name);
    else live.add(name);
  }
  return [...live];
}
