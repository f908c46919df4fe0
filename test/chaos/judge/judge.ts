/**
 * Checks the guarantee from outside for pipelines of every kind: compares the source topic with the output topics,
 * as a read_committed consumer sees them, and the remains in the journal.
 */
import type { GroupPosition } from '../../support/stack/stack-control.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import type { Ledger } from '../harness/observe/ledger.ts';
import type { Complaints } from './complaints.ts';
import { at, type Ground, judgeDeadLetter, judgeOutput, type Produced } from './judge-records.ts';

export interface Evidence {
  readonly ground: Ground;
  /** All committed source records. */
  readonly produced: readonly Produced[];
  /** All records of the output topic that a read_committed consumer sees. */
  readonly outputs: readonly ReadRecord[];
  readonly deadLetters: readonly ReadRecord[];
  /** Ledger that has all of these records. */
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

/** Returns the keys of jobs, and of their remaining records, whose newest value is not a tombstone. */
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
