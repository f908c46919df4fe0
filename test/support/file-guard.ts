/**
 * Guard of a test file: test/run.ts loads it into each file's process (`--import`). It fails a file that leaves
 * anything behind.
 *
 * - The temporary directory (each file has its own TMPDIR) must be empty at the end.
 * - No child process may be left at the end (checked where /proc exists).
 * - The file must end soon after its last test. Otherwise it fails, with a list of the open sockets, servers and
 *   timers.
 * - The file must end within TEST_FILE_LIMIT_MS. It also ends when the runner ends, so that no test continues
 *   unattended.
 *
 * The guard sets the priority TEST_FILE_NICENESS and writes the processor time in ms to TEST_FILE_TIMES.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import path from 'node:path';
import './test-context.ts';

// A static import would load the runner before its bookkeeping is replaced.
const { after } = await import('node:test');

/** Maximum time between the last test and the end of the process, ms. `after` hooks stop brokers and applications in this time. */
const ENDING_MS = 15_000;
const PARENT_CHECK_MS = 500;

const limitMs = Number(process.env.TEST_FILE_LIMIT_MS ?? 120_000);
const { TEST_FILE_NICENESS: niceness, TEST_FILE_TIMES: timesFile } = process.env;
const runner = process.ppid;
const directory = path.join(tmpdir(), `file-${process.pid}`);

mkdirSync(directory, { recursive: true });
process.env.TMPDIR = directory;
if (niceness !== undefined) setPriority(Number(niceness));

function fail(reason: string): void {
  process.stderr.write(`${reason}\n`);
  process.exitCode = 1;
}

function openResources(): string {
  const ours = process
    .getActiveResourcesInfo()
    .filter((kind) => kind !== 'PipeWrap' && kind !== 'TTYWrap');
  return (
    [...Map.groupBy(ours, (kind) => kind)]
      .map(([kind, all]) => `${all.length} ${kind}`)
      .join(', ') || 'nothing that Node lists'
  );
}

function giveUp(reason: string): void {
  fail(reason);
  process.exit(1);
}

// None of these timers keeps the process alive.
setTimeout(
  () => giveUp(`this file did not end within ${limitMs} ms; open: ${openResources()}`),
  limitMs,
).unref();
setInterval(() => process.ppid === runner || process.exit(1), PARENT_CHECK_MS).unref();
after(() => {
  setTimeout(
    () =>
      giveUp(
        `this file was still running ${ENDING_MS} ms after its tests; open: ${openResources()}`,
      ),
    ENDING_MS,
  ).unref();
});

/** Returns the command lines of the remaining child processes by process id. Empty on systems without /proc. */
function childProcesses(): Map<number, string> {
  const found = new Map<number, string>();
  try {
    for (const thread of readdirSync('/proc/self/task')) {
      for (const pid of readFileSync(`/proc/self/task/${thread}/children`, 'utf8')
        .split(' ')
        .filter(Boolean)) {
        found.set(
          Number(pid),
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim(),
        );
      }
    }
  } catch {
    // This system is not Linux, or the child has just ended.
  }
  return found;
}

/** Processor time of this process and its ended children, ms. Linux counts it in ticks of 10 ms. */
function cpuMs(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

process.on('exit', () => {
  for (const [pid, command] of childProcesses()) {
    fail(`this file left a child process: ${pid} ${command.slice(0, 200)}`);
    // The keeper ends by itself after its cleanup. Other processes must be ended here.
    if (!command.includes('/dev/process/keeper.ts')) process.kill(pid, 'SIGKILL');
  }
  const left = readdirSync(directory);
  if (left.length > 0)
    fail(`this file left in its temporary directory: ${left.slice(0, 5).join(', ')}`);
  rmSync(directory, { recursive: true, force: true });
  if (timesFile !== undefined) writeFileSync(timesFile, String(cpuMs()));
});
