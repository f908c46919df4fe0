/**
 * Child processes and temporary directories that cannot outlive this process, whether it ends by a
 * return, an exception, Ctrl-C to the whole process group, or SIGKILL. One keeper process
 * (keeper.ts) watches all of them. The keeper starts with the first of them and ends with the last.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClosingCommand, FromKeeper, ToKeeper } from './protocol.ts';

export interface KeptOptions {
  readonly command: string;
  readonly args?: readonly string[];
  /** Complete environment of the child. Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** File to which standard output and error are appended. If `onLine` is absent too, the output is discarded. */
  readonly logFile?: string;
  /** Called with every line of standard output and error. */
  readonly onLine?: (line: string) => void;
  /** Commands to run if this process ends before the child. `stop` does not run them. */
  readonly closing?: readonly ClosingCommand[];
}

export interface Exit {
  /** null if a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Kept {
  /** Process id of the child itself, not of an intermediate process. */
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** undefined while it is running. */
  readonly exit: Exit | undefined;
  /** Sends a signal. Has no effect after the child has exited. */
  kill(signal: NodeJS.Signals): void;
  /** Sends SIGTERM, and SIGKILL after `graceMs` (default 5,000; 0 sends SIGKILL at once). Idempotent. */
  stop(graceMs?: number): Promise<Exit>;
}

interface Child {
  readonly started: (pid: number) => void;
  readonly failed: (message: string) => void;
  readonly ended: (exit: Exit) => void;
  readonly onLine: ((line: string) => void) | undefined;
  pid?: number;
}

const KEEPER = fileURLToPath(new URL('./keeper.ts', import.meta.url));

/** The running keeper, and everything that it keeps. */
class Keeper {
  readonly #process: ChildProcess;
  readonly #children = new Map<number, Child>();
  readonly #directories = new Set<string>();
  readonly #gone: Promise<void>;
  #closed = false;

  constructor() {
    // In its own session, the keeper gets no signals of this process group. Inherited output would keep our
    // pipes open.
    this.#process = spawn(process.execPath, ['--no-warnings', KEEPER], {
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
      env: { ...process.env, NODE_OPTIONS: undefined, NODE_TEST_CONTEXT: undefined },
    });
    this.#gone = new Promise((resolve) => {
      const lost = () => {
        this.#lost();
        resolve();
      };
      this.#process.once('close', lost);
      this.#process.once('error', lost);
    });
    this.#process.stdin?.on('error', () => undefined);
    if (this.#process.stdout === null) throw new Error('the keeper has no standard output');
    createInterface({ input: this.#process.stdout }).on('line', (line) =>
      this.#receive(JSON.parse(line) as FromKeeper),
    );
    this.#holdOpen(false);
  }

  /** True if the keeper still accepts requests. */
  get open(): boolean {
    return !this.#closed;
  }

  run(id: number, child: Child, message: ToKeeper): void {
    this.#children.set(id, child);
    this.#holdOpen(true);
    this.#send(message);
  }

  kill(id: number, signal: NodeJS.Signals): void {
    if (this.#children.has(id)) this.#send({ kill: id, signal });
  }

  keep(directory: string): void {
    this.#directories.add(directory);
    this.#send({ keep: directory });
  }

  async release(directory: string): Promise<void> {
    if (!this.#directories.delete(directory)) return;
    this.#send({ release: directory });
    await this.endIfIdle();
  }

  /** Ends the keeper process if it has nothing left to keep. */
  async endIfIdle(): Promise<void> {
    if (this.#children.size > 0 || this.#directories.size > 0) return;
    this.#closed = true;
    this.#process.stdin?.end();
    this.#holdOpen(true);
    await this.#gone;
  }

  /** Keeps this process alive while children run, as any child does. Directories alone do not. */
  #holdOpen(hold: boolean): void {
    const { stdin, stdout } = this.#process;
    for (const handle of [this.#process, stdin, stdout] as (ChildProcess | Socket | null)[]) {
      if (hold) handle?.ref();
      else handle?.unref();
    }
  }

  #send(message: ToKeeper): void {
    this.#process.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  #receive(message: FromKeeper): void {
    if ('line' in message) {
      this.#children.get(message.of)?.onLine?.(message.line);
    } else if ('spawned' in message) {
      const child = this.#children.get(message.spawned);
      if (child !== undefined) child.pid = message.pid;
      child?.started(message.pid);
    } else if ('failed' in message) {
      this.#take(message.failed)?.failed(message.message);
    } else {
      this.#take(message.exited)?.ended({ code: message.code, signal: message.signal });
      void this.endIfIdle();
    }
  }

  #take(id: number): Child | undefined {
    const child = this.#children.get(id);
    this.#children.delete(id);
    if (this.#children.size === 0) this.#holdOpen(false);
    return child;
  }

  /** Handles the loss of the keeper, after which all its children have ended, too. */
  #lost(): void {
    this.#closed = true;
    for (const child of this.#children.values()) {
      if (child.pid === undefined) {
        child.failed('the keeper process ended before it could start the child');
        continue;
      }
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The child has already ended.
      }
      child.ended({ code: null, signal: 'SIGKILL' });
    }
    this.#children.clear();
  }
}

let current: Keeper | undefined;
let lastId = 0;

function keeper(): Keeper {
  if (current === undefined || !current.open) current = new Keeper();
  return current;
}

/**
 * Starts a child process that ends with this one. While it runs, it keeps this process alive, as
 * any child does.
 * @throws Error if the command cannot be started
 */
export async function spawnKept(options: KeptOptions): Promise<Kept> {
  lastId += 1;
  const id = lastId;
  const mine = keeper();
  let exit: Exit | undefined;
  const started = Promise.withResolvers<number>();
  const exited = Promise.withResolvers<Exit>();
  const child: Child = {
    started: started.resolve,
    failed: (message) => started.reject(new Error(`cannot start ${options.command}: ${message}`)),
    ended: (how) => {
      exit = how;
      exited.resolve(how);
    },
    onLine: options.onLine,
  };
  mine.run(id, child, {
    run: {
      id,
      command: options.command,
      args: options.args ?? [],
      env: options.env ?? process.env,
      cwd: options.cwd ?? process.cwd(),
      logFile: options.logFile,
      lines: options.onLine !== undefined,
      closing: options.closing ?? [],
    },
  });

  let pid: number;
  try {
    pid = await started.promise;
  } catch (error) {
    await mine.endIfIdle();
    throw error;
  }
  return {
    pid,
    exited: exited.promise,
    get exit() {
      return exit;
    },
    kill: (signal) => mine.kill(id, signal),
    async stop(graceMs = 5_000) {
      if (graceMs > 0) mine.kill(id, 'SIGTERM');
      const hard = setTimeout(() => mine.kill(id, 'SIGKILL'), graceMs);
      const how = await exited.promise;
      clearTimeout(hard);
      await mine.endIfIdle();
      return how;
    },
  };
}

export interface KeptDirectory {
  readonly path: string;
  /** Removes the directory and its contents. Idempotent. */
  remove(): Promise<void>;
}

/** Creates a directory that does not outlive this process. Informs the keeper first, so the directory cannot leak. */
export async function keepDirectory(path: string): Promise<KeptDirectory> {
  const mine = keeper();
  mine.keep(path);
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    await mine.release(path);
    throw error;
  }
  return { path, remove: () => removeKept(mine, path) };
}

async function removeKept(from: Keeper, path: string): Promise<void> {
  // A killed process may still be writing its last file.
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  await from.release(path);
}
