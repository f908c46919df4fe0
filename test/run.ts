/**
 * Runs the tests:
 *
 *   npm test                               everything
 *   npm test -- unit property              these suites
 *   npm test -- memory                     minutes under load, not included in everything
 *   npm test -- test/unit/core             the files in a folder, or one file
 *
 * Files run in parallel as planned in test/runner/plan.ts; small files of a suite share a process. The output of a
 * file is printed when it ends. The summary lists the totals of each suite and the slowest files, with their duration
 * and the CPU time of the processes that they started, without the shared broker.
 *
 * One broker is started for all files that need Kafka, unless KAFKA_BROKERS names a cluster. It always ends with the
 * run. The last line is always `N passed, N failed`. A skipped test counts as failed, because it proves nothing.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { makeClassArchive } from '../dev/kafka/class-archive.ts';
import { type LocalKafka, startKafka } from '../dev/kafka/start.ts';
import { keepDirectory } from '../dev/process/kept.ts';
import { type FileOutcome, runFile } from './runner/file-run.ts';
import { type Plan, planOf } from './runner/plan.ts';
import { runPlanned } from './runner/schedule.ts';
import { ROOT, selectFiles } from './runner/suites.ts';
import { slowestFiles, suiteTotals, timesOf } from './runner/totals.ts';

/** Maximum number of processors for tests. More would only wait for the shared broker. */
const MOST_PROCESSORS = 4;

/** Minimum number of files with brokers for which the class archive saves time. */
const MANY_FILES = 20;

/** Returns true if a file uses the shared broker. Files that need their own cluster start it themselves. */
function needsBroker({ file, bundle = [file] }: Plan): boolean {
  return bundle.some((one) => /\btestKafka\b/.test(readFileSync(path.join(ROOT, one), 'utf8')));
}

const print = (text: string) => process.stdout.write(text);

async function startSharedBroker(interrupt: AbortSignal, many: boolean): Promise<LocalKafka> {
  // The archive only saves time, so a failure is ignored.
  if (many) await makeClassArchive(interrupt).catch(() => undefined);
  const startedMs = performance.now();
  const kafka = await startKafka({
    signal: interrupt,
    onProgress: (message) => print(`kafka: ${message}\n`),
  });
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  print(`kafka: ${kafka.description} at ${kafka.brokers.join(',')} after ${seconds} s\n`);
  process.env.TEST_KAFKA_BROKERS = kafka.brokers.join(',');
  return kafka;
}

/** Runs the selected files and adds their results to `outcomes`. */
async function main(outcomes: FileOutcome[], interrupt: AbortSignal): Promise<void> {
  const plans = planOf(selectFiles(process.argv.slice(2)));
  // All tests create temporary files in this directory, which is removed when the runner ends.
  const temporary = await keepDirectory(path.join(tmpdir(), `test-run-${randomUUID()}`));
  process.env.TMPDIR = temporary.path;
  // Output of programs must not depend on the terminal of the run.
  for (const name of ['FORCE_COLOR', 'NO_COLOR', 'TERM']) delete process.env[name];
  // Compiling the same modules again would take half of the CPU time of a short process.
  process.env.NODE_COMPILE_CACHE ??= path.join(temporary.path, 'compiled');
  // Files that do not need the broker run while it starts.
  const ours = plans.filter(needsBroker);
  const kafka =
    ours.length === 0 ? undefined : startSharedBroker(interrupt, ours.length > MANY_FILES);
  kafka?.catch(() => undefined);
  const troubles: unknown[] = [];
  const runOne = async (plan: Plan) => {
    // A single file prints immediately. Parallel files print their output at the end.
    const text: string[] = [];
    const write = plans.length === 1 ? print : (piece: string) => text.push(piece);
    try {
      if (ours.includes(plan)) await kafka;
      const outcome = await runFile(plan, { directory: temporary.path, signal: interrupt, write });
      outcomes.push(outcome);
      print(`\n${plan.file}: ${timesOf(outcome)}\n${text.join('')}`);
    } catch (error) {
      troubles.push(error);
      print(`\n${plan.file}\n${text.join('')}`);
    }
  };
  try {
    const capacity = 100 * Math.min(availableParallelism(), MOST_PROCESSORS);
    await runPlanned(plans, { capacity, signal: interrupt, start: runOne });
  } finally {
    const running = await kafka?.catch(() => undefined);
    await running?.stop();
    await temporary.remove();
  }
  if (troubles.length > 0) throw troubles[0];
}

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // A second signal ends the runner at once. The keeper and the guards of the files clean up.
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort(new Error(`interrupted by ${signal}`));
  });
}

const outcomes: FileOutcome[] = [];
let trouble = false;
try {
  await main(outcomes, interrupted.signal);
} catch (error) {
  trouble = true;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
if (outcomes.length > 1) print(`\nthe slowest files:\n${slowestFiles(outcomes).join('\n')}\n`);
print(`\n${suiteTotals(outcomes).join('\n')}\nafter ${(performance.now() / 1_000).toFixed(0)} s\n`);
for (const { plan, failures } of outcomes.filter((outcome) => outcome.failed > 0))
  print(`\nfailed in ${plan.file}:\n${failures.join('\n')}\n`);
print(`\n${passed} passed, ${failed} failed\n`);
process.exitCode = interrupted.signal.aborted ? 130 : trouble || failed > 0 || passed === 0 ? 1 : 0;
