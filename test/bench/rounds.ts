/** One round of a benchmark: a process that handles all records of a topic, with its cost. */
import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kept, spawnKept } from '../../dev/process/kept.ts';
import type { RecordHeaders, SourceCoordinate } from '../../src/core/record.ts';
import { type TestKafka, uniqueName } from '../support/kafka/kafka.ts';
import { cpuSecondsOf, residentMiBOf } from '../support/process-time.ts';
import { createStack, type Replica, type Stack } from '../support/stack/stack.ts';
import { TopicReader } from '../support/stack/topic-reader.ts';

export interface Round {
  readonly perSecond: number;
  /** Processor time per item over all threads, µs. */
  readonly cpuUs: number;
  readonly peakMiB: number;
}

export interface ConnectorRound extends Round {
  /** Maximum number of records that were consumed but not decided. */
  readonly mostUnsettled: number;
  /** Seconds from the start of the process to its first readable decision. */
  readonly firstDecisionSeconds: number;
}

export interface ConnectorSetup {
  readonly topic: string;
  readonly records: number;
  readonly partitions: number;
  /** Duration of a review at the service. */
  readonly reviewMs: number;
  /** Bytes per second that the storage accepts over all uploads. Default: no limit. */
  readonly uploadBytesPerSecond?: number;
  /** Node arguments that start the connector. */
  readonly connector: readonly string[];
  /** Merged into the pipeline's configuration. */
  readonly pipeline?: Readonly<Record<string, unknown>> | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

const BATCH_ROWS = 5_000;
/** Environment of a connector. */
const START = { MALLOC_ARENA_MAX: '1' };
/** Interval between reads of the metrics. Each read costs the connector a few milliseconds. */
const LOOK_MS = 1_000;
/** Shorter interval near the end, because the time of the end is measured. */
const LAST_LOOK_MS = 250;
const GIVE_UP_MS = 600_000;

/** Runs the bare client's loop on the topic. */
export async function bareRound(
  kafka: TestKafka,
  topic: string,
  partitions: number,
  records: number,
): Promise<Round> {
  const output = await kafka.createTopic('bare', { partitions });
  const printed = Promise.withResolvers<string>();
  const script = new URL('./bare-loop.ts', import.meta.url).pathname;
  const loop = await spawnKept({
    command: process.execPath,
    args: [script, kafka.brokers.join(','), topic, output, uniqueName('bare'), String(records)],
    onLine: (line) => line.startsWith('{') && printed.resolve(line),
  });
  const { seconds, cpuSeconds, maxRssKiB } = JSON.parse(await printed.promise) as {
    seconds: number;
    cpuSeconds: number;
    maxRssKiB: number;
  };
  await loop.stop();
  await drop(kafka, [output]);
  return {
    perSecond: records / seconds,
    cpuUs: (cpuSeconds * 1e6) / records,
    peakMiB: maxRssKiB / 1024,
  };
}

/** Runs the connector on the topic with the benchmark's service. Checks that each record was decided once. */
export async function connectorRound(
  kafka: TestKafka,
  directory: string,
  setup: ConnectorSetup,
): Promise<ConnectorRound> {
  return await withConnector(kafka, directory, setup, async (stack, replica, spawnedAt) => {
    const firstDecision = firstDecisionAt(kafka, stack.topics.decisions);
    firstDecision.catch(() => undefined);
    const { pid } = replica.process;
    const started = await replica.logged('owns the shard');
    const startedAt = Date.parse(String(started.time));
    const before = cpuSecondsOf(pid);
    let mostUnsettled = 0;
    for (;;) {
      const { consumed, decided } = await progressOf(replica);
      mostUnsettled = Math.max(mostUnsettled, consumed - decided);
      if (decided >= setup.records) break;
      if (Date.now() - startedAt > GIVE_UP_MS)
        throw new Error(
          `${decided} of ${setup.records} decided\n${replica.lines.slice(-10).join('\n')}`,
        );
      await sleep(decided < setup.records * 0.9 ? LOOK_MS : LAST_LOOK_MS);
    }
    const seconds = (Date.now() - startedAt) / 1000;
    const cpuUs = ((cpuSecondsOf(pid) - before) * 1e6) / setup.records;
    const peakMiB = residentMiBOf(pid, 'VmHWM');
    const firstDecisionSeconds = ((await firstDecision) - spawnedAt) / 1000;
    await assertDecidedOnce(kafka, stack.topics.decisions, setup);
    return {
      perSecond: setup.records / seconds,
      cpuUs,
      peakMiB,
      mostUnsettled,
      firstDecisionSeconds,
    };
  });
}

/** Runs a service and a connector during `run`. */
export async function withConnector<T>(
  kafka: TestKafka,
  directory: string,
  setup: ConnectorSetup,
  run: (stack: Stack, replica: Replica, spawnedAt: number) => Promise<T>,
): Promise<T> {
  const service = await startService(setup.reviewMs, setup.uploadBytesPerSecond);
  const { source, ...pipeline } = (setup.pipeline ?? {}) as { source?: object };
  const stack = await createStack(
    kafka,
    mkdtempSync(path.join(directory, 'round-')),
    { sandbox: service.process, url: service.url },
    {
      partitions: 1,
      decisionPartitions: 6,
      connector: setup.connector,
      pipeline: {
        source: { topic: setup.topic, ...source },
        batch: { maxRows: BATCH_ROWS, maxAge: '1s' },
        review: { poll: '200ms' },
        ...pipeline,
      },
      config: { memory: { budget: '64MiB' }, ...setup.config },
    },
  );
  try {
    const spawnedAt = Date.now();
    return await run(stack, await stack.startReplica(START), spawnedAt);
  } finally {
    await stack.stop();
    await drop(kafka, [stack.topics.decisions, stack.topics.source, stack.topics.deadLetters]);
  }
}

async function startService(
  reviewMs: number,
  uploadBytesPerSecond = Infinity,
): Promise<{ process: Kept; url: string }> {
  const listening = Promise.withResolvers<string>();
  const service = await spawnKept({
    command: process.execPath,
    args: [
      new URL('./service.ts', import.meta.url).pathname,
      String(reviewMs),
      String(uploadBytesPerSecond),
    ],
    onLine: (line) => {
      const url = /listening on (\S+)/.exec(line)?.[1];
      if (url !== undefined) listening.resolve(url);
      else process.stderr.write(`service: ${line}\n`);
    },
  });
  return { process: service, url: await listening.promise };
}

/** Returns the numbers of consumed and of decided records. */
export async function progressOf(replica: Replica): Promise<{ consumed: number; decided: number }> {
  const text = await (await fetch(`${await replica.url()}/metrics`)).text();
  const sum = (name: string) => {
    const series = text.matchAll(
      new RegExp(`^content_review_${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'),
    );
    return [...series].reduce((total, [, value]) => total + Number(value), 0);
  };
  return { consumed: sum('events_consumed_total'), decided: sum('decisions_total') };
}

/** Returns the time when a read_committed consumer has the first decision. */
async function firstDecisionAt(kafka: TestKafka, topic: string): Promise<number> {
  const reader = new TopicReader(kafka.brokers, topic);
  try {
    await reader.readCount(1, { deadlineMs: GIVE_UP_MS });
    return Date.now();
  } finally {
    await reader.close();
  }
}

async function assertDecidedOnce(
  kafka: TestKafka,
  topic: string,
  { records }: ConnectorSetup,
): Promise<void> {
  const seen = new Set<number>();
  let readable = 0;
  const reader = new TopicReader(kafka.brokers, topic);
  await reader.forEachToEnd(({ headers }) => {
    readable++;
    const { partition, offset } = sourceOf(headers);
    seen.add(partition * 2 ** 32 + offset);
  });
  await reader.close();
  if (readable !== records || seen.size !== records)
    throw new Error(`${readable} decisions of ${seen.size} records, expected ${records} of each`);
}

/** Returns the coordinates in the event id, which is a decision's last header. */
export function sourceOf(headers: RecordHeaders): SourceCoordinate {
  const [, partition, offset] = /-(\d+)-(\d+)$/.exec(String(headers.at(-1)?.[1])) ?? [];
  return { partition: Number(partition), offset: Number(offset) };
}

async function drop(kafka: TestKafka, topics: readonly string[]): Promise<void> {
  await (await kafka.admin()).deleteTopics({ topics: [...topics] }).catch(() => undefined);
}
