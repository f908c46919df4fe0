/** What the demo knows of one kind of pipeline: what to send through it, and what must come out. */
import type { Check, Match, Verdict } from './judge.ts';
import type { DemoRecord } from './ledger.ts';
import type { Screen } from './screen.ts';
import type { Outcome } from './terminal.ts';
import type { PipelineName } from './topics.ts';

export interface Sandbox {
  readonly url: string;
  /** Ends calls to it. */
  readonly signal: AbortSignal;
}

export interface DemoKind<E, O extends Outcome> {
  readonly name: PipelineName;
  /** What is sent, in words. */
  readonly input: string;
  /** What becomes of a record that is no dead letter, as in `2,000 decided`. */
  readonly published: string;
  /** Head of the samples. */
  readonly output: string;
  /** Records that there will be, poison included. */
  readonly total: number;
  /** Records of one send; more make it faster. */
  readonly perSend: number;
  /** As many records as `total` says. @throws Error when the sandbox does not take what they are about. */
  records(sandbox: Sandbox): AsyncIterable<DemoRecord<E>>;
  /** What outcomes must say. @throws Error when the sandbox does not tell what it must be asked for. */
  checker(outcomes: readonly O[], sandbox: Sandbox): Promise<Check<E, O>>;
  /** What can be said of the outcomes beside the balance, a line each. */
  facts(verdict: Verdict<E, O>): string[];
  /** A few outcomes to look at, as a table. */
  samples(screen: Screen, matches: readonly Match<E, O>[]): string[];
}

export const METADATA_CHANGED = 'the metadata came back changed';
export const FAILED = 'ended with an error';
export const WRONG = 'the outcome is not the right one';

/** One of each group, from the middle of the run; groups in the order of their names. */
export function oneOfEach<T>(items: readonly T[], groupOf: (item: T) => string): T[] {
  const groups = Map.groupBy(items, groupOf);
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, same]) => same.slice(Math.floor(same.length / 2)).slice(0, 1));
}
