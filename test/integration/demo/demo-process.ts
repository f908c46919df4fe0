/** `npm run demo` as a process with its own temporary directory. Also finds remaining files and processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const MAIN = fileURLToPath(new URL('../../../dev/demo/main.ts', import.meta.url));

export class DemoProcess {
  readonly process: ChildProcess;
  readonly #temporary = temporaryDirectory();
  readonly #exited: Promise<unknown[]>;
  #output = '';
  #more = Promise.withResolvers<void>();

  constructor(
    args: readonly string[] = [],
    env: Readonly<Record<string, string | undefined>> = {},
  ) {
    this.process = spawn(process.execPath, [MAIN, ...args], {
      cwd: ROOT,
      env: {
        ...process.env,
        NODE_TEST_CONTEXT: undefined,
        NODE_OPTIONS: undefined,
        ...env,
        TMPDIR: this.#temporary,
      },
      stdio: 'pipe',
    });
    this.#exited = once(this.process, 'close');
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#more.resolve();
        this.#more = Promise.withResolvers();
      });
    }
    after(() => this.process.kill('SIGKILL'));
  }

  /** Combined standard output and error. */
  get output(): string {
    return this.#output;
  }

  /** Resolves with the first match in the output. @throws Error with the output if the demo ends without a match. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const ended = this.#exited.then(() => 'ended' as const);
    for (;;) {
      const more = this.#more.promise;
      const match = pattern.exec(this.#output);
      if (match !== null) return match;
      if ((await Promise.race([more, ended])) === 'ended' && !pattern.test(this.#output)) {
        throw new Error(`the demo ended without ${pattern}:\n${this.#output}`);
      }
    }
  }

  /** Sends keys, which the demo reads as lines of standard input if there is no terminal. */
  press(keys: string): void {
    this.process.stdin?.write(`${keys}\n`);
  }

  /** Resolves with the exit code, or the signal that ended the demo. */
  async end(): Promise<number | string> {
    const [code, signal] = await this.#exited;
    return (code ?? signal) as number | string;
  }

  /** Sends SIGINT. Resolves as `end` does. */
  async interrupt(): Promise<number | string> {
    this.process.kill('SIGINT');
    return await this.end();
  }

  /**
   * Returns the files in the demo's temporary directory and, with /proc, remaining processes that the demo or its
   * children started.
   */
  left(): string[] {
    return [...readdirSync(this.#temporary), ...this.processes()];
  }

  /** Returns remaining processes. All of them inherit the temporary directory in their environment. */
  processes(): string[] {
    const found: string[] = [];
    for (const pid of numbersIn('/proc')) {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
        if (!environment.includes(this.#temporary)) continue;
        found.push(
          `${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')}`,
        );
      } catch {
        // The process has ended or belongs to another user.
      }
    }
    return found;
  }
}

function numbersIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}
