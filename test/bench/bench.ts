/**
 * `npm run bench`: compares the connector with the bare client. The two use the same broker and records, in
 * alternating rounds. Results are ratios and medians, because machines are noisy.
 *
 *   npm run bench -- [--records N] [--rounds N]    main load compared with the bare loop, and latency
 *   npm run bench -- --table                       other loads
 *   npm run bench -- --lanes SECONDS               delay of 50 live events per second next to an archive of a million
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startKafka } from '../../dev/kafka/start.ts';
import { TestKafka } from '../support/kafka/kafka.ts';
import { median } from '../support/process-time.ts';
import { realisticEvents } from './events.ts';
import { measureLanes } from './lanes.ts';
import { measureLatency } from './latency.ts';
import { type Load, writeAll } from './load.ts';
import {
  bareRound,
  type ConnectorRound,
  type ConnectorSetup,
  connectorRound,
  type Round,
} from './rounds.ts';
import { measureScenarios } from './scenarios.ts';

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '800000' },
    rounds: { type: 'string', default: '5' },
    table: { type: 'boolean', default: false },
    lanes: { type: 'string' },
  },
});
const RECORDS = Number(values.records);
const ROUNDS = Number(values.rounds);
const PARTITIONS = 6;

/** Starts the connector with the node options in the first line of src/cli/main.ts. */
const SETUP: Pick<ConnectorSetup, 'partitions' | 'reviewMs' | 'connector'> = {
  partitions: PARTITIONS,
  reviewMs: 0,
  connector: [
    '--max-semi-space-size=8',
    path.join(import.meta.dirname, '../../dist/src/cli/main.js'),
  ],
};

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const toText = ({ perSecond, cpuUs, peakMiB }: Round): string =>
  `${Math.round(perSecond)}/s, ${cpuUs.toFixed(1)} µs of processor time per item, peak RSS ${Math.round(peakMiB)} MiB`;

await withBroker();

async function withBroker(): Promise<void> {
  const directory = mkdtempSync(path.join(tmpdir(), 'bench-'));
  const cluster = await startKafka();
  const kafka = new TestKafka(cluster.brokers);
  print(`Node ${process.version}, ${availableParallelism()} processors`);
  try {
    if (values.table) await measureScenarios(kafka, directory, SETUP.connector, print);
    else if (values.lanes !== undefined) await compareLanes(kafka, directory, Number(values.lanes));
    else await compareBare(kafka, directory);
  } finally {
    await kafka.close();
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function topicOf(kafka: TestKafka, load: Load): Promise<string> {
  const topic = await kafka.createTopic('content', { partitions: load.partitions });
  await writeAll(kafka.brokers, topic, load);
  return topic;
}

function mainLoad(): Load {
  return { records: RECORDS, partitions: PARTITIONS, codec: 'none', record: realisticEvents() };
}

async function compareBare(kafka: TestKafka, directory: string): Promise<void> {
  const load = mainLoad();
  print(
    `${RECORDS} realistic events, ${PARTITIONS} partitions, batches of 5,000 rows, ${ROUNDS} rounds`,
  );
  const topic = await topicOf(kafka, load);
  // Warm-up: the broker compiles its code in the first minute.
  await bareRound(kafka, topic, PARTITIONS, RECORDS);
  const bare: Round[] = [];
  const rounds: ConnectorRound[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const floor = await bareRound(kafka, topic, PARTITIONS, RECORDS);
    bare.push(floor);
    print(`round ${round}: bare loop ${toText(floor)}`);
    const one = await connectorRound(kafka, directory, { ...SETUP, topic, records: RECORDS });
    rounds.push(one);
    print(
      `  connector: ${toText(one)}, first decision after ${one.firstDecisionSeconds.toFixed(2)} s, at most ${one.mostUnsettled} unsettled; ${ratiosOf([one], [floor])}`,
    );
  }
  await (await kafka.admin()).deleteTopics({ topics: [topic] });
  const peak = Math.round(Math.max(...rounds.map(({ peakMiB }) => peakMiB)));
  const first = median(rounds.map(({ firstDecisionSeconds }) => firstDecisionSeconds));
  print(
    `medians of ${ROUNDS} rounds: ${ratiosOf(rounds, bare)}, ${median(rounds.map(({ cpuUs }) => cpuUs)).toFixed(1)} µs per item, highest peak RSS ${peak} MiB, first decision ${first.toFixed(2)} s after the start of the process`,
  );
  const setup = { ...SETUP, reviewMs: 500, pipeline: { review: {} } };
  const { medianMs, p99Ms } = await measureLatency(kafka, directory, setup, load);
  print(
    `at 1,000 events per second, results available → decision readable: p50 ${medianMs} ms, p99 ${p99Ms} ms`,
  );
}

async function compareLanes(kafka: TestKafka, directory: string, seconds: number): Promise<void> {
  for (const lanes of [{ live: { types: ['live'], share: 0.5 } }, {}]) {
    const pipeline = { batch: { types: { live: { maxAge: '2s' } } }, lanes, review: {} };
    const setup = { ...SETUP, reviewMs: 1_000, pipeline };
    const { medianMs, p99Ms, decided, archivePerSecond } = await measureLanes(
      kafka,
      directory,
      setup,
      seconds,
    );
    const how = Object.keys(lanes).length === 0 ? 'without lanes' : 'with a lane for live events';
    print(
      `${how}: live events p50 ${Math.round(medianMs)} ms, p99 ${Math.round(p99Ms)} ms, ${decided} decided; archive ${Math.round(archivePerSecond)}/s`,
    );
  }
}

/** Medians of the ratios of each round, since a disturbance of a round affects both sides. */
function ratiosOf(connector: readonly Round[], bare: readonly Round[]): string {
  const ratio = (of: (round: Round) => number) =>
    median(connector.map((one, n) => of(one) / of(bare[n] as Round))).toFixed(2);
  return `throughput ${ratio(({ perSecond }) => perSecond)}, processor time ${ratio(({ cpuUs }) => cpuUs)} (bare loop = 1)`;
}
