/**
 * Loaded into the process of every test file by test/run.ts (`--import`): a file that leaves something behind fails.
 *
 * - Its temporary directory (TMPDIR is one of its own) must be empty at the end.
 * - It must have no child process left at the end (where /proc tells).
 * - It must end by itself soon after its last test: a socket, server or timer left open is named, and the file fails.
 * - It must end within TEST_FILE_LIMIT_MS; and it ends when the runner is gone, so that nobody's tests run on unseen.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/** From the last test to the end of the process, ms: `after` hooks stop brokers and applications in this time. */
const ENDING_MS = 15_000;
const PARENT_CHECK_MS = 500;

const limitMs = Number(process.env.TEST_FILE_LIMIT_MS ?? 120_000);
const runner = process.ppid;
const directory = path.join(tmpdir(), `file-${process.pid}`);

mkdirSync(directory, { recursive: true });
process.env.TMPDIR = directory;

function fail(reason: string): void {
  process.stderr.write(`${reason}\n`);
  process.exitCode = 1;
}

function openResources(): string {
  const ours = process.getActiveResourcesInfo().filter((kind) => kind !== 'PipeWrap' && kind !== 'TTYWrap');
  return (
    [...Map.groupBy(ours, (kind) => kind)].map(([kind, all]) => `${all.length} ${kind}`).join(', ') || 'nothing that Node names'
  );
}

function giveUp(reason: string): void {
  fail(reason);
  process.exit(1);
}

// None of these timers keeps the process alive.
setTimeout(() => giveUp(`this file did not end within ${limitMs} ms; open: ${openResources()}`), limitMs).unref();
setInterval(() => process.ppid === runner || process.exit(1), PARENT_CHECK_MS).unref();
after(() => {
  setTimeout(
    () => giveUp(`this file does not end by itself ${ENDING_MS} ms after its tests; open: ${openResources()}`),
    ENDING_MS,
  ).unref();
});

/** Command lines of the child processes that are left, by process id; empty where the system does not tell. */
function childProcesses(): Map<number, string> {
  const found = new Map<number, string>();
  try {
    for (const thread of readdirSync('/proc/self/task')) {
      for (const pid of readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean)) {
        found.set(Number(pid), readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim());
      }
    }
  } catch {
    // No /proc (not Linux), or the child has just gone.
  }
  return found;
}

process.on('exit', () => {
  for (const [pid, command] of childProcesses()) {
    fail(`this file left a child process: ${pid} ${command.slice(0, 200)}`);
    // The keeper is busy cleaning up what was left; anything else has nobody to end it.
    if (!command.includes('/dev/process/keeper.ts')) process.kill(pid, 'SIGKILL');
  }
  const left = readdirSync(directory);
  if (left.length > 0) fail(`this file left in its temporary directory: ${left.slice(0, 5).join(', ')}`);
  rmSync(directory, { recursive: true, force: true });
});
