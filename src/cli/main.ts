#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=8
/** Entry point. Checks the version of Node before importing modern code, whose errors an old Node reports unclearly. */
import { nodeVersionProblem } from './node-version.ts';

/** Time in ms from the end of the command to a forced exit. It must be less than CLOSING_MS in run.ts. */
const LINGER_MS = 250;

// Without this, a diagnostic report (--report-uncaught-exception and similar) would contain keys
// from environment variables (I6).
process.report.excludeEnv = true;
// Without a listener, the signal would open Node's inspector, which gives local users control of the process.
process.on('SIGUSR1', () => {});
process.on('SIGUSR2', () => {});

const problem = nodeVersionProblem(process.versions.node);
if (problem === undefined) {
  const [{ quietKafkajs, runCli }, { processOutlet }] = await Promise.all([
    import('./program.ts'),
    import('../../packages/client/src/cli/io.ts'),
  ]);
  quietKafkajs();
  process.exitCode = await runCli(process.argv.slice(2), processOutlet);
  setTimeout(() => process.exit(), LINGER_MS).unref();
} else {
  process.stderr.write(problem);
  process.exitCode = 2;
}
