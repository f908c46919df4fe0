/**
 * `npm run bench [-- --records N --rounds N]`: how much of the bare client's speed is left when everything the connector
 * promises is done. One run, one broker, the same records; figures are ratios and medians, because machines are noisy.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startKafka } from '../../dev/kafka/start.ts';
import { spawnKept } from '../../dev/process/kept.ts';
import { eventually } from '../support/eventually.ts';
import { TestKafka, uniqueName } from '../support/kafka.ts';
import { startStack } from '../support/stack.ts';
import { measureLatency } from './latency.ts';

const { values } = parseArgs({
  options: { records: { type: 'string', default: '480000' }, rounds: { type: 'string', default: '3' } },
});
const RECORDS = Number(values.records);
const ROUNDS = Number(values.rounds);
const PARTITIONS = 6;
/** As the package starts it: the first line of src/cli/main.ts. */
const BUILT = ['--max-semi-space-size=4', new URL('../../dist/cli/main.js', import.meta.url).pathname];
const BATCH_ROWS = 5_000;
const TEXT = 'The quick brown fox, "quoted", jumps over the lazy dog; and then, quite naturally, it does so again. '
  .repeat(3)
  .slice(0, 320);

interface Round {
  readonly perSecond: number;
  /** Processor time of one item, all threads, µs. */
  readonly cpuUs: number;
  readonly peakMiB: number;
}

async function produce(kafka: TestKafka, topic: string): Promise<void> {
  const at = (n: number) => ({
    partition: n % PARTITIONS,
    key: `user-${n % 5_000}`,
    value: JSON.stringify({ type: 'post', content: `${n} ${TEXT}`, metadata: { post_id: n, lang: 'en' } }),
  });
  for (let from = 0; from < RECORDS; from += 10_000) {
    await kafka.write(
      topic,
      Array.from({ length: Math.min(10_000, RECORDS - from) }, (_, i) => at(from + i)),
    );
  }
}

async function bareRound(kafka: TestKafka, source: string): Promise<Round> {
  const output = await kafka.createTopic('bare', { partitions: PARTITIONS });
  const printed = Promise.withResolvers<string>();
  const loop = await spawnKept({
    command: process.execPath,
    args: [
      new URL('./bare-loop.ts', import.meta.url).pathname,
      kafka.brokers.join(','),
      source,
      output,
      uniqueName('bare'),
      String(RECORDS),
    ],
    onLine: (line) => line.startsWith('{') && printed.resolve(line),
  });
  const { seconds, cpuSeconds, records, maxRssKiB } = JSON.parse(await printed.promise) as {
    seconds: number;
    cpuSeconds: number;
    records: number;
    maxRssKiB: number;
  };
  await loop.stop();
  return { perSecond: records / seconds, cpuUs: (cpuSeconds * 1e6) / records, peakMiB: maxRssKiB / 1024 };
}

async function connectorRound(kafka: TestKafka, source: string, directory: string): Promise<Round> {
  const stack = await startStack(kafka, mkdtempSync(path.join(directory, 'round-')), {
    partitions: PARTITIONS,
    decisionPartitions: PARTITIONS,
    connector: BUILT,
    policy: {},
    pipeline: {
      source: { topic: source },
      batch: { maxRows: BATCH_ROWS, maxAge: '1s' },
      review: { poll: { initial: '50ms', max: '1s' } },
    },
    config: { memory: { budget: '64MiB' } },
  });
  try {
    const replica = await stack.startReplica({ MALLOC_ARENA_MAX: '1' });
    const owns = await replica.logged('owns the shard');
    const startedAt = Date.parse(String(owns.time));
    const beforeSeconds = cpuSecondsOf(replica.process.pid);
    const decided = await eventually(
      'every record is decided',
      async () => (await replica.metric('decisions_total')) >= RECORDS && Date.now(),
      { deadlineMs: 300_000, everyMs: 200 },
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${replica.lines.slice(-20).join('\n')}`);
    });
    const cpuUs = ((cpuSecondsOf(replica.process.pid) - beforeSeconds) * 1e6) / RECORDS;
    const peakMiB = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${replica.process.pid}/status`, 'utf8'))?.[1]) / 1024;
    let readable = 0;
    const seen = new Set<string>();
    for (const record of await kafka.readAll(stack.topics.decisions)) {
      readable++;
      const { source: at } = JSON.parse(String(record.value)) as { source: { partition: number; offset: number } };
      seen.add(`${at.partition}:${at.offset}`);
    }
    if (readable !== RECORDS || seen.size !== RECORDS)
      throw new Error(`${readable} decisions of ${seen.size} records, not ${RECORDS}`);
    return { perSecond: RECORDS / ((decided - startedAt) / 1000), cpuUs, peakMiB };
  } finally {
    await stack.stop();
  }
}

/** Of a process that runs, with its threads: user and system, in ticks of 10 ms. */
function cpuSecondsOf(pid: number): number {
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  return (Number(user) + Number(system)) / 100;
}

const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const said = ({ perSecond, cpuUs, peakMiB }: Round): string =>
  `${Math.round(perSecond)}/s (${cpuUs.toFixed(1)} µs of a processor each, peak RSS ${Math.round(peakMiB)} MiB)`;
const ratioOf = (connector: Round, bare: Round): string =>
  `${(connector.perSecond / bare.perSecond).toFixed(2)} (of processor time ${(bare.cpuUs / connector.cpuUs).toFixed(2)})`;
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const directory = mkdtempSync(path.join(tmpdir(), 'bench-'));
const cluster = await startKafka();
const kafka = new TestKafka(cluster.brokers);
try {
  const source = await kafka.createTopic('content', { partitions: PARTITIONS });
  print(
    `${RECORDS} records of about 320 bytes of text, ${PARTITIONS} partitions, batches of ${BATCH_ROWS} rows, ${ROUNDS} rounds`,
  );
  await produce(kafka, source);
  // The broker compiles its code in the first minute: neither side is measured on a cold one.
  await bareRound(kafka, source);
  const ratios: number[] = [];
  const peaks: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const bare = await bareRound(kafka, source);
    const connector = await connectorRound(kafka, source, directory);
    ratios.push(connector.perSecond / bare.perSecond);
    peaks.push(connector.peakMiB);
    print(`round ${round}: connector ${said(connector)}, bare loop ${said(bare)}, ratio ${ratioOf(connector, bare)}`);
  }
  print(`ratio, median of ${ROUNDS}: ${median(ratios).toFixed(2)}   peak RSS, highest: ${Math.round(Math.max(...peaks))} MiB`);
  const latency = await measureLatency(kafka, directory);
  print(
    `results available → decision readable: median ${Math.round(latency.medianMs)} ms, 95th percentile ${Math.round(latency.p95Ms)} ms (${latency.batches} batches)`,
  );
} finally {
  await kafka.close();
  await cluster.stop();
  rmSync(directory, { recursive: true, force: true });
}
