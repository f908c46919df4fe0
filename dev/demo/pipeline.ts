/** One pipeline of the demo: its sample producer, its counts, and the verdict on it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { lastHeader } from '../../src/core/record.ts';
import { partitionOf } from '../kafka/partitioner.ts';
import { RecordProducer } from '../kafka/send-records.ts';
import type { CommittedRecord, PipelineName, PipelineNames } from './cluster.ts';
import {
  balanceLines,
  type DemoRecord,
  judge,
  type Match,
  type Outcome,
  type OutcomeCheck,
  type ProducedRecords,
  problemsOf,
  readDeadLetter,
  type Verdict,
} from './judge.ts';
import { type Cell, type Counts, type Screen, table } from './screen.ts';

export interface Sandbox {
  readonly url: string;
  /** Ends calls to it, and the producers. */
  readonly signal: AbortSignal;
}

/** Input and expected outcomes of a pipeline kind. */
export interface DemoKind<E, O extends Outcome> {
  readonly name: PipelineName;
  /** Description of the input. */
  readonly input: string;
  /** Verb for a published outcome, as in `2,000 decided`. */
  readonly published: string;
  /** Head of the samples. */
  readonly output: string;
  /** Number of records, poison included. */
  readonly total: number;
  /** Records per send; more are faster. */
  readonly perSend: number;
  /** Yields `total` records. @throws Error when the sandbox refuses what they are about */
  records(sandbox: Sandbox): AsyncIterable<DemoRecord<E>>;
  /** @throws Error when the sandbox does not return what the check needs */
  checker(outcomes: readonly O[], sandbox: Sandbox): Promise<OutcomeCheck<E, O>>;
  /** Facts in addition to the balance, a line each. */
  facts(verdict: Verdict<E, O>): string[];
  /** Table of a few outcomes: its heads, the group of which each has one row, and the cells. */
  readonly samples: {
    readonly heads: readonly string[];
    groupOf(match: Match<E, O>): string;
    cells(match: Match<E, O>): readonly Cell[];
  };
}

/** A record that the connector cannot submit. */
export const poison = (
  reason: string,
  value: string | null,
  key: string | null = `poison/${reason}`,
): DemoRecord<never> => ({ key, value, expected: { deadLetter: reason } });

/** Yields `count` good records, with the poison spread evenly among them. */
export async function* withPoison<E>(
  records: AsyncIterable<DemoRecord<E>>,
  count: number,
  poisoned: readonly DemoRecord<never>[],
): AsyncGenerator<DemoRecord<E>> {
  const every = Math.floor(count / poisoned.length);
  let index = 0;
  for await (const record of records) {
    const bad = index % every === 0 ? poisoned[index / every] : undefined;
    if (bad !== undefined) yield bad;
    yield record;
    if (++index === count) return;
  }
}

/** One of each group, from the middle of the run, in the order of the groups' names. */
export function oneOfEach<T>(items: readonly T[], groupOf: (item: T) => string): T[] {
  return [...Map.groupBy(items, groupOf)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, same]) => same.slice(Math.floor(same.length / 2)).slice(0, 1));
}

export type DemoPipeline = ReturnType<typeof demoPipeline>;

export function demoPipeline<E, O extends Outcome>(kind: DemoKind<E, O>, names: PipelineNames) {
  const { name, total } = kind;
  const produced: ProducedRecords<E> = new Map();
  const outcomes: CommittedRecord[] = [];
  const deadLetters: CommittedRecord[] = [];
  return {
    name,
    names,
    input: kind.input,

    /** Sends all records. Stops, without an error, with the sandbox's signal. */
    produce: (brokers: readonly string[], sandbox: Sandbox) =>
      produce(kind, names, produced, brokers, sandbox),

    isOutput: ({ topic }: CommittedRecord): boolean =>
      topic === names.outcomes || topic === names.deadLetters,

    /** Returns whether it has produced the source record of this terminal record. */
    isSourceOf: ({ headers }: CommittedRecord): boolean =>
      produced.has(String(lastHeader(headers, 'event-id')).slice(names.source.length + 1)),

    /** Takes a record of its output topics; ignores others. */
    take(record: CommittedRecord): void {
      if (record.topic === names.outcomes) outcomes.push(record);
      else if (record.topic === names.deadLetters) deadLetters.push(record);
    },

    /** @param metrics text of the connector's /metrics */
    counts(metrics: string): Counts {
      const sum = (metric: string) => sumOf(metrics, metric, name);
      const sealed = sum('batch_rows_sum');
      const counts = {
        name,
        total,
        produced: produced.size,
        buffered: Math.max(0, sum('events_consumed_total') - sum('dead_lettered_total') - sealed),
        atService: Math.max(0, sealed - sum('decisions_total')),
        published: outcomes.length,
        deadLettered: deadLetters.length,
      };
      // The metrics are older than the records read.
      return isSettled(counts) ? { ...counts, buffered: 0, atService: 0 } : counts;
    },

    async judge(screen: Screen, sandbox: Sandbox) {
      const seen = {
        topic: names.source,
        outcomes: outcomes.map(({ value }) => JSON.parse(String(value)) as O),
        deadLetters: deadLetters.map(readDeadLetter),
      };
      const verdict = judge(produced, seen, await kind.checker(seen.outcomes, sandbox));
      const { heads, groupOf, cells } = kind.samples;
      const rows = oneOfEach(verdict.matches, groupOf).map(cells);
      return {
        samples: [
          screen.paint('bold', `  ${name}: ${kind.output}`),
          ...table(screen, heads, rows, 2),
        ],
        deadLetters: seen.deadLetters,
        balance: balanceLines(screen, name, kind.published, kind.facts(verdict), verdict),
        problems: problemsOf(verdict).map((problem) => `${name}: ${problem}`),
      };
    },
  };
}

export const isSettled = ({ total, published, deadLettered }: Counts): boolean =>
  published + deadLettered >= total;

/** Sum of a metric over the series of a pipeline. */
function sumOf(metrics: string, metric: string, pipeline: PipelineName): number {
  const series = new RegExp(
    `^content_review_${metric}\\{[^}]*pipeline="${pipeline}"[^}]*\\} (\\S+)$`,
    'gm',
  );
  return [...metrics.matchAll(series)].reduce((sum, [, value]) => sum + Number(value), 0);
}

/** Slow enough to be watched. */
const PAUSE_MS = 75;

async function produce<E, O extends Outcome>(
  kind: DemoKind<E, O>,
  names: PipelineNames,
  produced: ProducedRecords<E>,
  brokers: readonly string[],
  sandbox: Sandbox,
): Promise<void> {
  const { signal } = sandbox;
  const producer = await openProducer(brokers, names, (at, record: DemoRecord<E>) =>
    produced.set(at, record),
  );
  const send = async (records: readonly DemoRecord<E>[]) => {
    await producer.send(records);
    await sleep(PAUSE_MS, undefined, { signal });
  };
  try {
    const records: DemoRecord<E>[] = [];
    for await (const record of kind.records(sandbox)) {
      records.push(record);
      if (records.length === kind.perSend) await send(records.splice(0));
    }
    await send(records);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await producer.close();
  }
}

/** Opens a producer for the source of a pipeline. @param onSent gets each acknowledged record with its `<partition>-<offset>` */
export async function openProducer<E>(
  brokers: readonly string[],
  { source, partitions }: PipelineNames,
  onSent: (at: string, record: DemoRecord<E>) => void,
) {
  // Idempotent: a retried send must not produce a record twice.
  const producer = new RecordProducer(brokers);
  await producer.begin(source, []);
  return {
    async send(records: readonly DemoRecord<E>[]): Promise<void> {
      const byPartition = Map.groupBy(records, ({ key }) =>
        key === null ? 0 : partitionOf(key, partitions),
      );
      for (const [partition, group] of byPartition) {
        const offsets = await producer.send(source, partition, group);
        for (const [place, record] of group.entries())
          onSent(`${partition}-${offsets[place]}`, record);
      }
    },
    close: () => producer.close(),
  };
}
