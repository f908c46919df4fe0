import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/**
 * Starts the command line as a user would: a process of its own, in the repository, with nothing but
 * `env` and the cache of compiled modules.
 */
export function startCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdin: 'ignore' | 'pipe' = 'ignore',
) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
    cwd: ROOT,
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal, out, err }));
  const seen = (stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(stream === 'stdout' ? out : err);
        if (match !== null) resolve(match);
      };
      child[stream]?.on('data', look);
      look();
      ended.then(() => reject(new Error(`ended before it said ${pattern}: ${out}${err}`)), reject);
    });
  /** Resolves with what `pattern` matched on standard output; rejects when the process ends before. */
  const said = (pattern: RegExp) => seen('stdout', pattern);
  /** The same on standard error. */
  const told = (pattern: RegExp) => seen('stderr', pattern);
  return { child, ended, said, told };
}

/** Runs it to its end. */
export function runCliProcess(
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<Ended> {
  return startCli(args, env).ended;
}
