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
 * Starts the command line as a user would: in its own process, in the repository, with only `env`
 * and the cache of compiled modules in its environment.
 */
export function startCli(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
    cwd: ROOT,
    env: { PATH, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
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
      ended.then(() => reject(new Error(`ended before ${pattern}: ${out}${err}`)), reject);
    });
  /** Resolves with the match of `pattern` in standard output. Rejects if the process ends before that. */
  const said = (pattern: RegExp) => seen('stdout', pattern);
  /** Resolves with the match of `pattern` in standard error. */
  const told = (pattern: RegExp) => seen('stderr', pattern);
  return { child, ended, said, told };
}

/** Runs the command line until it ends. */
export function runCliProcess(
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<Ended> {
  return startCli(args, env).ended;
}
