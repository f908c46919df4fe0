/**
 * The balance of one pipeline: what was produced against what a consumer of its outputs sees. The same for every kind of
 * pipeline; a kind adds what its outcomes must say.
 */
import { coordinate, type Ledger } from './ledger.ts';
import { counted } from './table.ts';
import { type DeadLetter, latencyMs, type Outcome } from './terminal.ts';

/** Problems with the outcome of a record; empty if there are none. */
export type Check<E, O extends Outcome> = (expected: E, outcome: O) => readonly string[];

/** An outcome where one belongs: the first of its record. */
export interface Match<E, O extends Outcome> {
  readonly expected: E;
  readonly outcome: O;
}

/** Lists hold `<partition>-<offset>` of source records. */
export interface Verdict<E, O extends Outcome> {
  readonly produced: number;
  readonly published: number;
  readonly deadLettered: number;
  readonly missing: readonly string[];
  readonly twice: readonly string[];
  /** Terminal records of what was never produced here; with the topic when that is another one. */
  readonly unknown: readonly string[];
  /** Other problems, with the records that have them. */
  readonly wrong: ReadonlyMap<string, readonly string[]>;
  readonly matches: readonly Match<E, O>[];
  /** From the event's timestamp to its outcome, ms, ascending. */
  readonly latenciesMs: readonly number[];
}

export interface Seen<O extends Outcome> {
  /** Source topic of the pipeline. */
  readonly topic: string;
  readonly outcomes: readonly O[];
  readonly deadLetters: readonly DeadLetter[];
}

/** An outcome where a dead letter belongs or the reverse, a dead letter with another reason or other bytes. */
export const OTHER_END = 'ended in another way than it should';

export function judge<E, O extends Outcome>(
  ledger: Ledger<E>,
  seen: Seen<O>,
  check: Check<E, O>,
): Verdict<E, O> {
  const times = new Map<string, number>();
  const unknown: string[] = [];
  const wrong = new Map<string, string[]>();
  const matches: Match<E, O>[] = [];
  let published = 0;
  let deadLettered = 0;

  /** @returns the record, the first time that something comes out for it. */
  function settle({ topic, partition, offset }: DeadLetter['source']) {
    const place = coordinate(partition, offset);
    const at = topic === seen.topic ? place : `${topic}-${place}`;
    const time = (times.get(at) ?? 0) + 1;
    times.set(at, time);
    const record = ledger.get(at);
    if (record === undefined && time === 1) unknown.push(at);
    return record === undefined || time > 1 ? undefined : { at, ...record };
  }

  function blame(at: string, what: string): void {
    const records = wrong.get(what);
    if (records === undefined) wrong.set(what, [at]);
    else records.push(at);
  }

  for (const outcome of seen.outcomes) {
    const record = settle(outcome.source);
    if (record === undefined) continue;
    published += 1;
    if ('deadLetter' in record.expected) {
      blame(record.at, OTHER_END);
      continue;
    }
    const expected = record.expected.outcome;
    for (const what of check(expected, outcome)) blame(record.at, what);
    matches.push({ expected, outcome });
  }
  for (const letter of seen.deadLetters) {
    const record = settle(letter.source);
    if (record === undefined) continue;
    deadLettered += 1;
    const { expected, value } = record;
    if (
      !('deadLetter' in expected) ||
      letter.reason !== expected.deadLetter ||
      letter.value !== value
    )
      blame(record.at, OTHER_END);
  }
  return {
    produced: ledger.size,
    published,
    deadLettered,
    missing: [...ledger.keys()].filter((at) => !times.has(at)),
    twice: [...times].flatMap(([at, time]) => (time > 1 ? [at] : [])),
    unknown,
    wrong,
    matches,
    latenciesMs: matches.map(({ outcome }) => latencyMs(outcome)).sort((a, b) => a - b),
  };
}

/** Problems with the records that have them; empty if there are none. */
export function problemsOf<E, O extends Outcome>({
  missing,
  twice,
  unknown,
  wrong,
}: Verdict<E, O>): string[] {
  const findings: (readonly [string, readonly string[]])[] = [
    ['neither outcome nor dead letter', missing],
    ['more than one outcome or dead letter', twice],
    ['never produced', unknown],
    ...wrong,
  ];
  return findings.flatMap(([what, records]) => {
    if (records.length === 0) return [];
    const shown = records.slice(0, 5).join(', ');
    const more = records.length > 5 ? ` and ${records.length - 5} more` : '';
    return `${what}: ${counted(records.length, 'record')}, at (partition-offset) ${shown}${more}`;
  });
}
