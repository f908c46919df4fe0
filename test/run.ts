/**
 * Runs the tests:
 *
 *   npm test                               everything
 *   npm test -- unit property              these suites
 *   npm test -- memory                     minutes under load; not part of everything
 *   npm test -- test/unit/core             the files below a folder, or one file
 *
 * One broker is started for all files that need Kafka (unless KAFKA_BROKERS names a cluster) and ends with the run,
 * however that ends. The last line is always `N passed, N failed`; a skipped test counts as failed, since it proves nothing.
 */
import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { type LocalKafka, startKafka } from '../dev/kafka/start.ts';
import { keepDirectory } from '../dev/process/kept.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const GUARD = fileURLToPath(new URL('./support/file-guard.ts', import.meta.url));

/** In the order in which they run: what fails soonest comes first. */
const SUITES = ['unit', 'property', 'conformance', 'integration', 'chaos', 'nemeses', 'memory'] as const;
type Suite = (typeof SUITES)[number];
const EVERYTHING = SUITES.filter((suite) => suite !== 'memory');

/** Longest run of one file, ms. */
const FILE_LIMIT_MS: Readonly<Record<Suite, number>> = {
  unit: 60_000,
  property: 120_000,
  conformance: 120_000,
  integration: 180_000,
  chaos: 600_000,
  nemeses: 600_000,
  memory: 1_200_000,
};
/** After the last file should have given up by itself: ends one that is stuck in a loop. */
const STUCK_MS = 30_000;

interface Outcome {
  passed: number;
  failed: number;
}

/** The files to run, by suite. @throws Error when a name matches nothing. */
function selectFiles(names: readonly string[]): Map<Suite, string[]> {
  const all = globSync(`{${SUITES.join(',')}}/**/*.test.ts`, { cwd: path.join(ROOT, 'test') }).map((file) => `test/${file}`);
  const wanted = new Set<string>();
  for (const name of names.length === 0 ? EVERYTHING : names) {
    const given = path.relative(ROOT, path.resolve(name)).split(path.sep).join('/');
    const below = (SUITES as readonly string[]).includes(name) ? `test/${name}` : given;
    const matches = all.filter((file) => file === below || file.startsWith(`${below}/`));
    // A whole run is complete also while a suite has no tests yet; a name somebody typed must find something.
    if (matches.length === 0 && names.length > 0)
      throw new Error(`no tests in "${name}": give ${SUITES.join(', ')}, a folder or a file`);
    for (const file of matches) wanted.add(file);
  }
  return Map.groupBy([...wanted].sort(), (file) => file.split('/')[1] as Suite);
}

/** Whether a file uses the shared broker. One that needs a cluster of its own starts it itself. */
function needsBroker(file: string): boolean {
  return /\btestKafka\b/.test(readFileSync(path.join(ROOT, file), 'utf8'));
}

/** Files at a time. */
function concurrencyOf(suite: Suite): number {
  const cores = Math.min(availableParallelism(), 4);
  switch (suite) {
    // These kill processes at random moments and measure.
    case 'chaos':
    case 'memory':
      return 1;
    // Processes that wait for one another most of the time.
    case 'integration':
      return cores + 1;
    default:
      return cores;
  }
}

async function runSuite(suite: Suite, files: readonly string[], signal: AbortSignal): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failed: 0 };
  const concurrency = concurrencyOf(suite);
  const stuckMs = FILE_LIMIT_MS[suite] * Math.ceil(files.length / concurrency) + STUCK_MS;
  process.env.TEST_FILE_LIMIT_MS = String(FILE_LIMIT_MS[suite]);
  const startedMs = performance.now();
  const events = run({
    cwd: ROOT,
    files: files.map((file) => path.join(ROOT, file)),
    concurrency,
    execArgv: ['--import', GUARD, '--disable-warning=ExperimentalWarning'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(stuckMs)]),
  });
  events.on('test:summary', ({ file, counts }) => {
    if (file !== undefined) return;
    outcome.passed = counts.passed;
    outcome.failed = counts.tests - counts.passed;
  });
  process.stdout.write(`\n${suite}: ${files.length} ${files.length === 1 ? 'file' : 'files'}\n`);
  for await (const text of events.compose(new spec())) {
    // Totals per suite come from the reporter as lines of their own; ours follow.
    process.stdout.write(text as string);
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  process.stdout.write(`${suite}: ${outcome.passed} passed, ${outcome.failed} failed in ${seconds} s\n`);
  return outcome;
}

async function startSharedBroker(): Promise<LocalKafka> {
  const startedMs = performance.now();
  const kafka = await startKafka({ onProgress: (message) => process.stdout.write(`kafka: ${message}\n`) });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  process.stdout.write(`kafka: ${kafka.description} at ${kafka.brokers.join(',')} after ${seconds} s\n`);
  process.env.TEST_KAFKA_BROKERS = kafka.brokers.join(',');
  return kafka;
}

async function main(interrupt: AbortSignal): Promise<Outcome> {
  const total: Outcome = { passed: 0, failed: 0 };
  const suites = selectFiles(process.argv.slice(2));
  // The temporary files of every test are below this directory, which vanishes with the runner.
  const temporary = await keepDirectory(path.join(tmpdir(), `test-run-${randomUUID()}`));
  process.env.TMPDIR = temporary.path;
  let kafka: LocalKafka | undefined;
  try {
    if ([...suites.values()].flat().some(needsBroker)) kafka = await startSharedBroker();
    for (const suite of SUITES) {
      const files = suites.get(suite);
      if (files === undefined || interrupt.aborted) continue;
      const { passed, failed } = await runSuite(suite, files, interrupt);
      total.passed += passed;
      total.failed += failed;
    }
  } finally {
    await kafka?.stop();
    await temporary.remove();
  }
  return total;
}

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A second one ends the runner at once; the keeper and the files' own guards clean up.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort(new Error(`interrupted by ${signal}`));
  });
}

let outcome: Outcome = { passed: 0, failed: 0 };
let trouble = false;
try {
  outcome = await main(interrupted.signal);
} catch (error) {
  trouble = true;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
process.stdout.write(`\n${outcome.passed} passed, ${outcome.failed} failed\n`);
process.exitCode = interrupted.signal.aborted ? 130 : trouble || outcome.failed > 0 || outcome.passed === 0 ? 1 : 0;
