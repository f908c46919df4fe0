/**
 * The promise, checked from the outside, for pipelines of every kind: what went into the source topic against what a
 * read_committed consumer finds in the output topics, and what is left in the journal.
 */
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import { Complaints } from './complaints.ts';
import { at, type Ground, judgeDeadLetter, judgeOutput, type Produced } from './judge-records.ts';

export interface Evidence extends Ground {
  /** Every committed record of the source. */
  readonly produced: readonly Produced[];
  /** Everything that a read_committed consumer sees of the output topic. */
  readonly outputs: readonly ReadRecord[];
  readonly deadLetters: readonly ReadRecord[];
  readonly journal: readonly ReadRecord[];
  readonly group: readonly {
    readonly partition: number;
    readonly committed: number;
    readonly end: number;
  }[];
}

/** @returns what is wrong, by kind; empty when the promise was kept. */
export function judge(evidence: Evidence): string[] {
  const verdict = new Complaints();
  const seen = new Map<string, number>();
  const produced = new Map(evidence.produced.map((event) => [at(event), event]));
  const terminal = (where: string): Produced | undefined => {
    const times = (seen.get(where) ?? 0) + 1;
    seen.set(where, times);
    if (times === 2) verdict.add('has more than one terminal record', where);
    const event = produced.get(where);
    if (event === undefined)
      verdict.add('has a terminal record, but no committed record stands there', where);
    return times > 1 ? undefined : event;
  };
  for (const record of evidence.outputs) judgeOutput(evidence, record, terminal, verdict);
  for (const record of evidence.deadLetters) judgeDeadLetter(evidence, record, terminal, verdict);
  for (const where of produced.keys())
    if (!seen.has(where)) verdict.add('has no terminal record', where);
  for (const key of liveJobKeys(evidence.journal)) verdict.add('is still live in the journal', key);
  for (const { partition, committed, end } of evidence.group) {
    if (committed !== end)
      verdict.add('is not committed to its end', `partition ${partition} (${committed} of ${end})`);
  }
  return verdict.list();
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
