/** One round of a benchmark: a process that works a topic off, and what it took. */
import { mkdtempSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Kept, spawnKept } from '../../dev/process/kept.ts';
import type { RecordHeaders, SourceCoordinate } from '../../src/core/record.ts';
import { type TestKafka, uniqueName } from '../support/kafka/kafka.ts';
import { cpuSecondsOf, machineTimes, residentMiBOf } from '../support/process-time.ts';
import { createStack, type Replica, type Stack } from '../support/stack/stack.ts';
import { TopicReader } from '../support/stack/topic-reader.ts';

export interface Round {
  readonly perSecond: number;
  /** Processor time of one item, all threads, µs. */
  readonly cpuUs: number;
  readonly peakMiB: number;
}

export interface ConnectorRound extends Round {
  /** Most records that were taken and not decided at a time. */
  readonly mostUnsettled: number;
  /** Between the first fifth and the last tenth: without start, rebalance and the age of the last batches. */
  readonly steadyPerSecond: number;
  /** Seconds from the start of the process to its first decision that a consumer can read. NaN: nothing was there to decide. */
  readonly firstDecisionSeconds: number;
  /** Share of all processors of the machine that was in use, by whichever process. */
  readonly machineBusy: number;
}

export interface ConnectorSetup {
  readonly topic: string;
  readonly records: number;
  readonly partitions: number;
  /** Time that the service takes for a review. */
  readonly reviewMs: number;
  /** Bytes that the storage accepts per second, over all uploads. Default: no limit. */
  readonly uploadBytesPerSecond?: number;
  /** Arguments of node that start the connector. */
  readonly connector: readonly string[];
  /** Replicas of one group. Default 1. */
  readonly replicas?: number;
  /** Writes the records, once every replica owns shards. Default: they are there already. */
  readonly fill?: () => Promise<void>;
  /** Share of a processor that each replica may use; the rest of the time it is stopped. Default: all. */
  readonly share?: number;
  /** Merged into the pipeline's configuration. */
  readonly pipeline?: Readonly<Record<string, unknown>> | undefined;
  readonly config?: Readonly<Record<string, unknown>> | undefined;
}

const BATCH_ROWS = 5_000;
/** Environment of a connector. */
export const START = { MALLOC_ARENA_MAX: '1' };
/** Interval between looks at the metrics: each costs the connector a few milliseconds. */
const LOOK_MS = 1_000;
/** The same near the end, whose time is measured. */
const LAST_LOOK_MS = 250;
const GIVE_UP_MS = 600_000;
const PERIOD_MS = 40;

/** The bare client's loop over the topic. */
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

/** The connector over the topic, against the benchmark's own service. Checks that each record was decided once. */
export async function connectorRound(
  kafka: TestKafka,
  directory: string,
  setup: ConnectorSetup,
): Promise<ConnectorRound> {
  return await withConnector(kafka, directory, setup, async (stack, replicas, spawnedAt) => {
    const firstDecision =
      setup.fill === undefined ? firstDecisionAt(kafka, stack.topics.decisions) : undefined;
    firstDecision?.catch(() => undefined);
    const started = await Promise.all(replicas.map((replica) => replica.logged('owns the shard')));
    const startedAt = Math.min(...started.map(({ time }) => Date.parse(String(time))));
    const pids = replicas.map(({ process: { pid } }) => pid);
    const cpu = () => pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
    const before = cpu();
    const machineBefore = machineTimes();
    const stopThrottling = throttle(replicas, setup.share);
    const filled = setup.fill?.();
    let mostUnsettled = 0;
    const window: { readonly atMs: number; readonly decided: number }[] = [];
    for (;;) {
      const { consumed, decided } = await progressOf(replicas);
      mostUnsettled = Math.max(mostUnsettled, consumed - decided);
      if (decided >= setup.records * 0.2 && decided <= setup.records * 0.9)
        window.push({ atMs: Date.now(), decided });
      if (decided >= setup.records) break;
      if (Date.now() - startedAt > GIVE_UP_MS)
        throw new Error(
          `${decided} of ${setup.records} decided\n${replicas.map(({ lines }) => lines.slice(-10).join('\n')).join('\n')}`,
        );
      await sleep(decided < setup.records * 0.9 ? LOOK_MS : LAST_LOOK_MS);
    }
    const seconds = (Date.now() - startedAt) / 1000;
    const firstDecisionSeconds = (((await firstDecision) ?? Number.NaN) - spawnedAt) / 1000;
    stopThrottling();
    await filled;
    const { busy, all } = machineTimes();
    const [first, last] = [window[0], window.at(-1)];
    const steadyPerSecond =
      first === undefined || last === undefined
        ? Number.NaN
        : ((last.decided - first.decided) * 1000) / (last.atMs - first.atMs);
    const machineBusy = (busy - machineBefore.busy) / (all - machineBefore.all);
    const cpuUs = ((cpu() - before) * 1e6) / setup.records;
    const peakMiB = Math.max(...pids.map((pid) => residentMiBOf(pid, 'VmHWM')));
    await assertDecidedOnce(kafka, stack.topics.decisions, setup);
    return {
      perSecond: setup.records / seconds,
      cpuUs,
      peakMiB,
      mostUnsettled,
      firstDecisionSeconds,
      steadyPerSecond,
      machineBusy,
    };
  });
}

/** Stops each replica for a part of each period, one after the other, as a quota of processor time does. @returns what ends it */
function throttle(replicas: readonly Replica[], share = 1): () => void {
  if (share >= 1) return () => undefined;
  const timers = new Set<NodeJS.Timeout>();
  const later = (ms: number, run: () => void) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, ms);
    timers.add(timer);
  };
  for (const [place, { process: kept }] of replicas.entries()) {
    const run = () => {
      kept.kill('SIGCONT');
      later(PERIOD_MS * share, stop);
    };
    const stop = () => {
      kept.kill('SIGSTOP');
      later(PERIOD_MS * (1 - share), run);
    };
    later((PERIOD_MS * place) / replicas.length, stop);
  }
  return () => {
    for (const timer of timers) clearTimeout(timer);
    for (const { process: kept } of replicas) kept.kill('SIGCONT');
  };
}

/** Starts a service and a connector for as long as `run` takes. */
export async function withConnector<T>(
  kafka: TestKafka,
  directory: string,
  setup: ConnectorSetup,
  run: (stack: Stack, replicas: readonly Replica[], spawnedAt: number) => Promise<T>,
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
    const replicas = await Promise.all(
      Array.from({ length: setup.replicas ?? 1 }, () => stack.startReplica(START)),
    );
    return await run(stack, replicas, spawnedAt);
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

/** Records taken and decided so far, over all replicas. */
export async function progressOf(
  replicas: readonly Replica[],
): Promise<{ consumed: number; decided: number }> {
  const texts = await Promise.all(
    replicas.map(async (replica) => (await fetch(`${await replica.url()}/metrics`)).text()),
  );
  const sum = (name: string) =>
    texts
      .flatMap((text) => [
        ...text.matchAll(new RegExp(`^content_review_${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm')),
      ])
      .reduce((total, [, value]) => total + Number(value), 0);
  return { consumed: sum('events_consumed_total'), decided: sum('decisions_total') };
}

/** Time at which a consumer of committed records has the first decision. */
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
    throw new Error(`${readable} decisions of ${seen.size} records, not ${records}`);
}

/** Coordinates in the event id, a decision's last header. */
export function sourceOf(headers: RecordHeaders): SourceCoordinate {
  const [, partition, offset] = /-(\d+)-(\d+)$/.exec(String(headers.at(-1)?.[1])) ?? [];
  return { partition: Number(partition), offset: Number(offset) };
}

async function drop(kafka: TestKafka, topics: readonly string[]): Promise<void> {
  await (await kafka.admin()).deleteTopics({ topics: [...topics] }).catch(() => undefined);
}
