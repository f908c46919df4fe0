/** One kind of pipeline in the demo: its input and its expected outcomes. */
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
  /** Description of the input. */
  readonly input: string;
  /** Verb for a record that is not a dead letter, as in `2,000 decided`. */
  readonly published: string;
  /** Head of the samples. */
  readonly output: string;
  /** Records that there will be, poison included. */
  readonly total: number;
  /** Records of one send; more make it faster. */
  readonly perSend: number;
  /** As many records as `total` says. @throws Error when the sandbox does not take what they are about. */
  records(sandbox: Sandbox): AsyncIterable<DemoRecord<E>>;
  /** Check of the outcomes. @throws Error if the sandbox does not return what the check needs. */
  checker(outcomes: readonly O[], sandbox: Sandbox): Promise<Check<E, O>>;
  /** Facts about the outcomes beside the balance, one line each. */
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
