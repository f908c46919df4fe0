/**
 * Keeper: a small process that outlives its parent just long enough to clean up after it.
 *
 * It starts children on request (stdin, see protocol.ts). When stdin ends, because the parent
 * finished, crashed or was killed with SIGKILL, it kills every child with its descendants, runs
 * their closing commands, removes the directories that it was given, and exits. It has its own
 * session, so Ctrl-C in the parent's terminal does not reach it.
 */
import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { ClosingCommand, FromKeeper, RunChild, ToKeeper } from './protocol.ts';

/** Maximum wait in ms for a killed child to end: SIGKILL is delayed only for a process stuck in the kernel. */
const KILL_WAIT_MS = 5_000;
/** Maximum wait in ms for the last lines of an exited child: a descendant in its own session may keep its pipes open. */
const LINES_WAIT_MS = 1_000;
/** Maximum time in ms for one closing command. */
const CLOSING_COMMAND_MS = 20_000;

const children = new Map<
  number,
  { readonly process: ChildProcess; readonly closing: readonly ClosingCommand[] }
>();
const directories = new Set<string>();
let ending = false;

function reply(message: FromKeeper): void {
  // A parent that is gone needs no reply.
  if (!ending) process.stdout.write(`${JSON.stringify(message)}\n`);
}

function run(request: RunChild): void {
  try {
    start(request);
  } catch (error) {
    // An unwritable log file or an argument with a zero byte is reported to the parent. The keeper survives.
    reply({ failed: request.id, message: error instanceof Error ? error.message : String(error) });
  }
}

function start({ id, command, args, env, cwd, logFile, lines, closing }: RunChild): void {
  const log = logFile === undefined || lines ? undefined : openSync(logFile, 'a');
  const sink = lines ? 'pipe' : (log ?? 'ignore');
  const stdio: StdioOptions = ['ignore', sink, sink];
  // With its own process group, the child can be killed with its descendants.
  const child = spawn(command, [...args], { env, cwd, stdio, detached: true });
  if (log !== undefined) closeSync(log);
  if (lines) relayLines(id, child, logFile);
  const closed = once(child, 'close').catch(() => undefined);
  children.set(id, { process: child, closing });
  child.once('spawn', () => reply({ spawned: id, pid: child.pid as number }));
  child.once('error', (error) => {
    if (child.pid !== undefined) return;
    children.delete(id);
    reply({ failed: id, message: error.message });
  });
  child.once('exit', async (code, signal) => {
    // The child's descendants end with it.
    killGroup(child);
    await within(LINES_WAIT_MS, closed);
    reply({ exited: id, code, signal });
    if (!ending) children.delete(id);
  });
}

function relayLines(id: number, child: ChildProcess, logFile: string | undefined): void {
  const log = logFile === undefined ? undefined : openSync(logFile, 'a');
  if (log !== undefined) child.once('close', () => closeSync(log));
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => {
      // Written synchronously, because the keeper may end right after the child.
      if (log !== undefined) writeSync(log, `${line}\n`);
      reply({ line, of: id });
    });
  }
}

/** Kills the child's process group. The group may already be gone. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

function within(ms: number, promise: Promise<unknown>): Promise<unknown> {
  return Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms).unref())]);
}

async function end(): Promise<void> {
  if (ending) return;
  ending = true;
  await Promise.all(
    [...children.values()].map(async ({ process: child, closing }) => {
      const gone =
        child.exitCode === null && child.signalCode === null
          ? once(child, 'exit')
          : Promise.resolve();
      killGroup(child);
      await within(KILL_WAIT_MS, gone);
      for (const { command, args } of closing) {
        await promisify(execFile)(command, [...args], { timeout: CLOSING_COMMAND_MS }).catch(
          () => undefined,
        );
      }
    }),
  );
  for (const directory of directories) {
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }).catch(
      () => undefined,
    );
  }
  process.exit(0);
}

process.stdout.on('error', () => undefined);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end());

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line) as ToKeeper;
    if ('run' in message) run(message.run);
    else if ('keep' in message) directories.add(message.keep);
    else if ('release' in message) directories.delete(message.release);
    else killRequested(message.kill, message.signal);
  })
  .on('close', () => void end());

function killRequested(id: number, signal: NodeJS.Signals): void {
  children.get(id)?.process.kill(signal);
}
