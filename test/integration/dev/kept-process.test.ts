import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { keepDirectory, spawnKept } from '../../../dev/process/kept.ts';
import { untilStopped } from '../../../dev/process/stopped.ts';
import { eventually } from '../../support/eventually.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const OWNER = fileURLToPath(new URL('./kept-owner.ts', import.meta.url));

/** True if a process exists and is not just waiting to be reaped. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

interface Owned {
  readonly child: number;
  readonly grandchild: number;
  readonly directory: string;
}

/** Starts a process that owns a kept child, grandchild and directory, in a process group of its own. */
async function startOwner(
  directory: string,
): Promise<{ readonly pid: number; readonly owned: Owned; readonly exited: Promise<unknown> }> {
  const owner = spawn(process.execPath, [OWNER, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const exited = once(owner, 'exit');
  const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  return { pid: owner.pid as number, owned: JSON.parse(line) as Owned, exited };
}

const ENDS: readonly {
  readonly name: string;
  readonly signal: NodeJS.Signals;
  readonly group: boolean;
}[] = [
  { name: 'its parent is killed with SIGKILL', signal: 'SIGKILL', group: false },
  {
    name: 'the whole process group of its parent is killed with SIGKILL',
    signal: 'SIGKILL',
    group: true,
  },
  { name: 'Ctrl-C hits the process group of its parent', signal: 'SIGINT', group: true },
];

for (const { name, signal, group } of ENDS) {
  test(`a kept child, its descendants and its directory vanish when ${name}`, async () => {
    const { pid, owned, exited } = await startOwner(path.join(temporaryDirectory(), 'kept'));
    assert.ok(runs(owned.child) && runs(owned.grandchild) && existsSync(owned.directory));
    process.kill(group ? -pid : pid, signal);
    await exited;
    await eventually('the child is gone', () => !runs(owned.child));
    await eventually('the grandchild is gone', () => !runs(owned.grandchild));
    await eventually('the directory is gone', () => !existsSync(owned.directory));
  });
}

test('a kept child is the real process: signals reach it and its exit is told', async () => {
  const child = await spawnKept({ command: 'sleep', args: ['60'] });
  assert.equal(readFileSync(`/proc/${child.pid}/comm`, 'utf8').trim(), 'sleep');
  child.kill('SIGSTOP');
  await untilStopped(child.pid);
  assert.match(readFileSync(`/proc/${child.pid}/stat`, 'utf8'), / T /);
  child.kill('SIGKILL');
  assert.deepEqual(await child.exited, { code: null, signal: 'SIGKILL' });
  assert.deepEqual(child.exit, { code: null, signal: 'SIGKILL' });
  assert.deepEqual(await child.stop(), { code: null, signal: 'SIGKILL' });
});

test('output goes to the log file and, line by line, to the listener', async () => {
  const directory = temporaryDirectory();
  const logFile = path.join(directory, 'log');
  const lines: string[] = [];
  const script = 'echo out; echo error >&2; exit 3';
  const heard = await spawnKept({
    command: process.execPath,
    // With a process in a group of its own, which writes after the child has exited.
    args: [
      '--eval',
      `spawn('sh', ['-c', 'sleep 0.1; echo late'], { detached: true, stdio: 'inherit' });
      process.exitCode = spawnSync('sh', ['-c', '${script}'], { stdio: 'inherit' }).status;
      process.exit();`.replaceAll('spawn', "require('node:child_process').spawn"),
    ],
    logFile,
    onLine: (line) => lines.push(line),
  });
  assert.deepEqual(await heard.exited, { code: 3, signal: null });
  assert.deepEqual(lines.sort(), ['error', 'late', 'out'], 'all of it comes before the exit');
  const silent = await spawnKept({ command: 'sh', args: ['-c', script], logFile });
  await silent.exited;
  assert.deepEqual(readFileSync(logFile, 'utf8').trim().split('\n').sort(), [
    'error',
    'error',
    'late',
    'out',
    'out',
  ]);
});

test('a command that does not exist is an error, and the directory meant for it is removed', async () => {
  const directory = path.join(temporaryDirectory(), 'for-nothing');
  await keepDirectory(directory);
  await assert.rejects(
    spawnKept({ command: '/no/such/command', removeDir: directory }),
    /cannot start \/no\/such\/command: .*ENOENT/,
  );
  assert.equal(existsSync(directory), false);
});

test('a child that ignores SIGTERM is killed when its grace is over', async () => {
  const ready = Promise.withResolvers<void>();
  const child = await spawnKept({
    command: 'sh',
    args: ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done'],
    onLine: () => ready.resolve(),
  });
  await ready.promise;
  assert.deepEqual(await child.stop(200), { code: null, signal: 'SIGKILL' });
});
