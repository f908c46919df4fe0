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

/** Starts the command line as a user would: a process of its own, in the repository, with nothing but `env`. */
export function startCli(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...env },
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
  /** Resolves with what `pattern` matched on standard output; rejects when the process ends before. */
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(out);
        if (match !== null) resolve(match);
      };
      child.stdout?.on('data', look);
      look();
      ended.then(() => reject(new Error(`ended before it said ${pattern}: ${out}${err}`)), reject);
    });
  return { child, ended, said };
}

/** Runs it to its end. */
export function runCliProcess(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended> {
  return startCli(args, env).ended;
}
