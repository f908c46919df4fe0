#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=8
/** The entry point. Nothing modern may be imported before Node's version is known: its own error would be unreadable. */
import { nodeVersionProblem } from './node-version.ts';

/**
 * Time after the last command after which the process exits even if something holds it open: a part
 * of run.ts's CLOSING_MS.
 */
const LINGER_MS = 250;

// A diagnostic report (--report-uncaught-exception and its like) would have the keys that came by the environment (I6).
process.report.excludeEnv = true;
// Without a listener the signal opens Node's inspector, and with it the process, to this machine.
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
