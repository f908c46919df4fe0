/** Runs a test file or a bundle of files in its own process. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { LIMIT_MS, type Plan } from './plan.ts';
import { ROOT } from './suites.ts';

const GUARD = fileURLToPath(new URL('../support/file-guard.ts', import.meta.url));
const BUNDLE = fileURLToPath(new URL('./bundle.ts', import.meta.url));
/** Time in milliseconds from the file's own limit until a file that is stuck in a loop is ended. */
const STUCK_MS = 30_000;
/** Matches the reporter's totals of one file, which the run replaces with its own. */
const REPORTER_TOTALS =
  /^\u2139 (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+\n/gm;
/** Maximum number of characters of an error in the summary. */
const MAX_MESSAGE = 2_000;
/** Niceness of files that only compute, so that files with timers take precedence. */
const COMPUTE_NICENESS = 10;

export interface FileOutcome {
  readonly plan: Plan;
  readonly passed: number;
  readonly failed: number;
  /** Failed tests with their file and error message. */
  readonly failures: readonly string[];
  readonly tookMs: number;
  /** CPU time of the file and of its processes that have ended. Undefined if the file was killed. */
  readonly cpuMs: number | undefined;
}

export interface FileRunOptions {
  /** Directory through which the file reports its times. */
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly write: (text: string) => void;
}

/** Runs a file. @throws Error if it cannot be run at all */
export async function runFile(
  plan: Plan,
  { directory, signal, write }: FileRunOptions,
): Promise<FileOutcome> {
  const { file, bundle, lane } = plan;
  const timesFile = path.join(directory, `${file.replaceAll('/', '-')}.times`);
  const startedMs = performance.now();
  let passed = 0;
  let failed = 0;
  const events = run({
    cwd: ROOT,
    files: [bundle === undefined ? path.join(ROOT, file) : BUNDLE],
    concurrency: 1,
    execArgv: ['--import', GUARD, '--disable-warning=ExperimentalWarning'],
    env: {
      ...process.env,
      TEST_FILE_LIMIT_MS: String(LIMIT_MS),
      TEST_FILE_TIMES: timesFile,
      ...(bundle === undefined ? {} : { TEST_BUNDLE: JSON.stringify(bundle) }),
      ...(lane === 'compute' ? { TEST_FILE_NICENESS: String(COMPUTE_NICENESS) } : {}),
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS + STUCK_MS)]),
  });
  events.on('test:summary', ({ file: of, counts }) => {
    if (of !== undefined) return;
    passed = counts.passed;
    failed = counts.tests - counts.passed;
  });
  // The totals do not include suites. A suite itself fails only if its file cannot be imported.
  let brokenSuites = 0;
  const failures: string[] = [];
  events.on('test:fail', ({ name, file: of, details: { type, error } }) => {
    if (Reflect.get(error, 'failureType') === 'subtestsFailed') return;
    if (type === 'suite') brokenSuites++;
    const message = error.cause instanceof Error ? error.cause.message : error.message;
    failures.push(`${path.relative(ROOT, of ?? file)}: ${name}\n${message.slice(0, MAX_MESSAGE)}`);
  });
  for await (const text of events.compose(new spec()))
    write(String(text).replaceAll(REPORTER_TOTALS, ''));
  const told = Number(await readFile(timesFile, 'utf8').catch(() => 'NaN'));
  return {
    plan,
    passed,
    failed: failed + brokenSuites,
    failures,
    tookMs: performance.now() - startedMs,
    cpuMs: Number.isNaN(told) ? undefined : told,
  };
}
