/** Compares the produced records of a pipeline with what a consumer of its outputs sees. */
import { lastHeader } from '../../src/core/record.ts';
import type { CommittedRecord } from './cluster.ts';
import { counted, grouped, type Screen, seconds } from './screen.ts';

/** Common members of decisions, receipts and looked-up decisions (contracts/). */
export interface Outcome {
  readonly id: string;
  readonly status: string;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly source: DeadLetter['source'] & { readonly timestamp: string | null };
  readonly decided_at: string;
}

/** Members of a dead letter that the demo reads (contracts/dead-letter.schema.json). */
export interface DeadLetter {
  readonly id: string;
  readonly reason: string;
  readonly message: string;
  readonly value: string | null;
  readonly source: { readonly topic: string; readonly partition: number; readonly offset: number };
}

export function readDeadLetter({ value, headers }: CommittedRecord): DeadLetter {
  const header = (name: string) => String(lastHeader(headers, name));
  return {
    id: header('event-id'),
    reason: header('dead-letter-reason'),
    message: header('dead-letter-message'),
    value: value === null ? null : String(value),
    source: {
      topic: header('dead-letter-topic'),
      partition: Number(header('dead-letter-partition')),
      offset: Number(header('dead-letter-offset')),
    },
  };
}

/** Time from an event to its decision. */
export const latencyMs = ({ decided_at, source }: Outcome): number =>
  Date.parse(decided_at) - Date.parse(source.timestamp ?? '');

/** A record for the source topic, and its expected outcome or the reason of its dead letter. */
export interface DemoRecord<E> {
  readonly key: string | null;
  readonly value: string | null;
  readonly expected: { readonly outcome: E } | { readonly deadLetter: string };
}

/** Produced and acknowledged records, by `<partition>-<offset>`. */
export type ProducedRecords<E> = Map<string, DemoRecord<E>>;

/** Returns the problems with the outcome of a record. */
export type OutcomeCheck<E, O extends Outcome> = (expected: E, outcome: O) => readonly string[];

/** An expected outcome: the first of its record. */
export interface Match<E, O extends Outcome> {
  readonly expected: E;
  readonly outcome: O;
}

/** Lists contain `<partition>-<offset>` of source records. */
export interface Verdict<E, O extends Outcome> {
  readonly produced: number;
  readonly published: number;
  readonly deadLettered: number;
  readonly missing: readonly string[];
  readonly twice: readonly string[];
  /** Terminal records without a produced record; with the topic if it is another one. */
  readonly unknown: readonly string[];
  /** Records with other problems, by problem. */
  readonly wrong: ReadonlyMap<string, readonly string[]>;
  readonly matches: readonly Match<E, O>[];
  /** Ascending. */
  readonly latenciesMs: readonly number[];
}

/** An outcome in place of a dead letter or the reverse, or a dead letter with another reason or value. */
export const OTHER_END = 'ended in another way than it should';
export const METADATA_CHANGED = 'the metadata came back changed';
export const FAILED = 'ended with an error';
export const WRONG = 'the outcome is not the right one';

export function judge<E, O extends Outcome>(
  produced: ProducedRecords<E>,
  seen: {
    /** Source topic of the pipeline. */
    readonly topic: string;
    readonly outcomes: readonly O[];
    readonly deadLetters: readonly DeadLetter[];
  },
  check: OutcomeCheck<E, O>,
): Verdict<E, O> {
  const times = new Map<string, number>();
  const unknown: string[] = [];
  const wrong = new Map<string, string[]>();
  const matches: Match<E, O>[] = [];
  let published = 0;
  let deadLettered = 0;

  /** @returns the record, for its first terminal record only */
  function settle({ topic, partition, offset }: DeadLetter['source']) {
    const at = `${topic === seen.topic ? '' : `${topic}-`}${partition}-${offset}`;
    const time = (times.get(at) ?? 0) + 1;
    times.set(at, time);
    const record = produced.get(at);
    if (record === undefined && time === 1) unknown.push(at);
    return record === undefined || time > 1 ? undefined : { at, ...record };
  }
  const blame = (at: string, what: string) =>
    void wrong.set(what, [...(wrong.get(what) ?? []), at]);

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
  for (const { source, reason, value } of seen.deadLetters) {
    const record = settle(source);
    if (record === undefined) continue;
    deadLettered += 1;
    const { expected } = record;
    if (!('deadLetter' in expected) || reason !== expected.deadLetter || value !== record.value)
      blame(record.at, OTHER_END);
  }
  return {
    produced: produced.size,
    published,
    deadLettered,
    missing: [...produced.keys()].filter((at) => !times.has(at)),
    twice: [...times].flatMap(([at, time]) => (time > 1 ? [at] : [])),
    unknown,
    wrong,
    matches,
    latenciesMs: matches.map(({ outcome }) => latencyMs(outcome)).sort((a, b) => a - b),
  };
}

/** Problems with the records that have them, a sentence each. */
export function problemsOf<E, O extends Outcome>(verdict: Verdict<E, O>): string[] {
  const { missing, twice, unknown, wrong } = verdict;
  const found: (readonly [string, readonly string[]])[] = [
    ['neither outcome nor dead letter', missing],
    ['more than one outcome or dead letter', twice],
    ['never produced', unknown],
    ...wrong,
  ];
  return found.flatMap(([what, records]) => {
    if (records.length === 0) return [];
    const shown = records.slice(0, 5).join(', ');
    const more = records.length > 5 ? ` and ${records.length - 5} more` : '';
    return `${what}: ${counted(records.length, 'record')}, at (partition-offset) ${shown}${more}`;
  });
}

/** The verdict in a few lines. @param word verb for a published outcome, as in `2,000 decided` */
export function balanceLines<E, O extends Outcome>(
  screen: Screen,
  name: string,
  word: string,
  facts: readonly string[],
  { produced, published, deadLettered, missing, twice, latenciesMs }: Verdict<E, O>,
): string[] {
  const even = produced === published + deadLettered;
  const well = even && missing.length === 0 && twice.length === 0;
  const balance =
    `in ${grouped(produced)} ${even ? '=' : '≠'} ${grouped(published)} ${word} + ${grouped(deadLettered)} dead-lettered, ` +
    `${grouped(missing.length)} missing, ${grouped(twice.length)} twice`;
  const within = (fraction: number) => {
    const index = Math.min(latenciesMs.length - 1, Math.floor(latenciesMs.length * fraction));
    const value = latenciesMs[index];
    return value === undefined ? 'none' : seconds(value);
  };
  const latency = `half within ${within(0.5)} of the event, 99 % within ${within(0.99)}`;
  const line = (head: string, text: string) => `  ${head.padEnd(9)}${text}`;
  return [
    line(name, screen.paint(['bold', well ? 'green' : 'red'], balance)),
    ...[...facts, latency].map((text) => line('', text)),
  ];
}
