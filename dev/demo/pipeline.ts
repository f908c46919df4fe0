/** One pipeline while the demo runs: what went in, what came out, and what to say of it. */
import { balanceLines } from './balance.ts';
import { type Check, judge, problemsOf } from './judge.ts';
import type { DemoKind, Sandbox } from './kind.ts';
import type { Ledger } from './ledger.ts';
import type { Metrics } from './metrics.ts';
import { produce } from './producer.ts';
import type { Counts } from './progress.ts';
import type { CommittedRecord } from './reader.ts';
import type { Screen } from './screen.ts';
import { type DeadLetter, type Outcome, readDeadLetter, readOutcome } from './terminal.ts';
import type { PipelineName, PipelineNames } from './topics.ts';

export interface DemoPipeline {
  readonly name: PipelineName;
  readonly names: PipelineNames;
  /** Description of the input. */
  readonly input: string;
  /** Sends everything. Stops, without an error, when the sandbox's signal says so. */
  produce(brokers: readonly string[], sandbox: Sandbox): Promise<void>;
  /** A record of one of its output topics; others are passed over. */
  take(record: CommittedRecord): void;
  counts(metrics: Metrics): Counts;
  judge(screen: Screen, sandbox: Sandbox): Promise<Judged>;
}

export interface Judged {
  readonly samples: readonly string[];
  readonly deadLetters: readonly DeadLetter[];
  readonly balance: readonly string[];
  /** Problems, one sentence each. */
  readonly problems: readonly string[];
}

export function demoPipeline<E, O extends Outcome>(
  kind: DemoKind<E, O>,
  names: PipelineNames,
): DemoPipeline {
  const { name, total } = kind;
  const ledger: Ledger<E> = new Map();
  const outcomes: CommittedRecord[] = [];
  const deadLetters: CommittedRecord[] = [];
  return {
    name,
    names,
    input: kind.input,

    produce: (brokers, sandbox) =>
      produce({
        brokers,
        topic: names.source,
        partitions: names.partitions,
        records: kind.records(sandbox),
        perSend: kind.perSend,
        ledger,
        signal: sandbox.signal,
      }),

    take(record) {
      if (record.topic === names.outcomes) outcomes.push(record);
      else if (record.topic === names.deadLetters) deadLetters.push(record);
    },

    counts(metrics) {
      const sum = (metric: string) => metrics.sum(metric, `pipeline="${name}"`);
      const sealed = sum('batch_rows_sum');
      return {
        name,
        total,
        produced: ledger.size,
        buffered: Math.max(0, sum('events_consumed_total') - sum('dead_lettered_total') - sealed),
        atService: Math.max(0, sealed - sum('decisions_total')),
        published: outcomes.length,
        deadLettered: deadLetters.length,
      };
    },

    async judge(screen, sandbox) {
      const read = {
        topic: names.source,
        outcomes: outcomes.map(readOutcome<O>),
        deadLetters: deadLetters.map(readDeadLetter),
      };
      const check: Check<E, O> = await kind.checker(read.outcomes, sandbox);
      const verdict = judge(ledger, read, check);
      return {
        samples: [
          screen.paint('bold', `  ${name}: ${kind.output}`),
          ...kind.samples(screen, verdict.matches),
        ],
        deadLetters: read.deadLetters,
        balance: balanceLines(screen, kind, verdict),
        problems: problemsOf(verdict).map((problem) => `${name}: ${problem}`),
      };
    },
  };
}
