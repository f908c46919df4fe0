/** The sandbox and the connector, each started as a user would start it. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { abortable } from '../../packages/client/src/base/abortable.ts';
import { type Kept, spawnKept } from '../process/kept.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CLI = path.join(ROOT, 'src/cli/main.ts');
const API_KEY = 'demo-key';
const LOG_TAIL = 15;
/** Maximum time to start: ten times what a busy two-core machine needs. */
const START_MS = 120_000;

const CONFIG_FILE = path.join(ROOT, 'config/demo.yaml');
const POLICY_FILE = path.join(ROOT, 'config/sandbox-policy.yaml');

export interface PartContext {
  /** Directory for logs and data. Removed at the end. */
  readonly directory: string;
  /** Aborted when the demo ends early. */
  readonly over: AbortSignal;
  /** Reports a part that ended unexpectedly. */
  readonly failed: (error: Error) => void;
}

export interface Part {
  readonly url: string;
  readonly running: boolean;
  /** Returns the last lines of its log. */
  tail(): string;
  /** Sends SIGTERM, and SIGKILL after `graceMs`. @returns a description of the end, or undefined for exit code 0 */
  stop(graceMs: number): Promise<string | undefined>;
  /** Kills it, like a crash. */
  kill(): Promise<void>;
  /** Suspends it with its state. */
  freeze(): void;
  thaw(): void;
  /** Restarts it at its address after it has ended. @throws Error with the end of its log */
  restart(): Promise<void>;
  /** From now on, reports an unexpected end to `handler` instead of ending the demo. */
  onEnd(handler: (how: string) => void): void;
}

/** The reference Content Review Service. */
export function startSandbox(context: PartContext): Promise<Part> {
  return startPart(context, 'sandbox', /^sandbox listening on (\S+)/, (port = '0') => ({
    args: ['sandbox', '--port', port, '--policy', POLICY_FILE],
    env: { SANDBOX_API_KEYS: API_KEY },
  }));
}

/** Returns the variables of config/demo.yaml. */
export const connectorVariables = (
  brokers: readonly string[],
  prefix: string,
  sandboxUrl: string,
): Readonly<Record<string, string>> => ({
  KAFKA_BROKERS: brokers.join(','),
  SERVICE_URL: sandboxUrl,
  SERVICE_API_KEY: API_KEY,
  NAME_PREFIX: prefix,
  LOG_LEVEL: 'info',
  LOG_FORMAT: 'text',
});

/** Creates the topics as a user would. @throws Error with the command's output */
export async function createTopics(
  { over }: PartContext,
  partitions: number,
  variables: Readonly<Record<string, string>>,
): Promise<void> {
  const output: string[] = [];
  const flags = ['--config', CONFIG_FILE, '--partitions', String(partitions), '--yes'];
  const command = await spawnKept({
    command: process.execPath,
    args: [CLI, 'topics', 'create', ...flags],
    env: { ...process.env, ...variables },
    onLine: (line) => output.push(line),
  });
  try {
    const { code } = await abortable(command.exited, over);
    if (code !== 0) throw new Error(`The topics cannot be created:\n${output.join('\n')}`);
  } finally {
    // Stopped before the demo deletes its topics, because topics created later would remain.
    await command.stop(0);
  }
}

export function startConnector(
  context: PartContext,
  variables: Readonly<Record<string, string>>,
): Promise<Part> {
  return startPart(context, 'connector', /\bmetrics and health\b.*\burl=(\S+)/, (port) => ({
    args: ['run', '--config', CONFIG_FILE],
    env: port === undefined ? variables : { ...variables, HTTP_PORT: port },
  }));
}

/**
 * Starts a part.
 * @param address finds the part's address in a line of its output
 * @param launch returns the command line for a port; without a port, the part chooses one
 */
async function startPart(
  { directory, over, failed }: PartContext,
  name: string,
  address: RegExp,
  launch: (port?: string) => {
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  },
): Promise<Part> {
  const last: string[] = [];
  const tail = () => last.map((line) => `    ${line}`).join('\n') || '    (it wrote nothing)';
  const logged = (what: string) => new Error(`The ${name} ${what}. The end of its log:\n${tail()}`);
  let ended = (how: string) => failed(logged(`ended by itself with ${how}`));
  let kept: Kept;
  let isUp = false;
  let stopping = false;

  async function start(port?: string): Promise<string> {
    const up = Promise.withResolvers<string>();
    const { args, env } = launch(port);
    last.length = 0;
    stopping = false;
    kept = await spawnKept({
      command: process.execPath,
      args: [CLI, ...args],
      env: { ...process.env, ...env },
      logFile: path.join(directory, `${name}.log`),
      onLine: (line) => {
        last.push(line);
        if (last.length > LOG_TAIL) last.shift();
        const found = address.exec(line)?.[1];
        if (found !== undefined) up.resolve(found);
      },
    });
    void kept.exited.then((exit) => {
      const how = describe(exit);
      up.reject(logged(`ended by itself with ${how}`));
      // If a restart fails, only its rejection reports the end.
      if (!stopping && (isUp || port === undefined)) ended(how);
      isUp = false;
    });
    const timer = setTimeout(
      () => up.reject(logged(`did not report its address within ${START_MS / 1_000} s`)),
      START_MS,
    );
    try {
      const url = await abortable(up.promise, over);
      isUp = true;
      return url;
    } catch (error) {
      await stop(0);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async function stop(graceMs: number): Promise<string | undefined> {
    stopping = true;
    const exit = await kept.stop(graceMs);
    return exit.code === 0 ? undefined : `it ended with ${describe(exit)}`;
  }

  const url = await start();
  return {
    url,
    get running() {
      return isUp;
    },
    tail,
    stop,
    async kill() {
      kept.kill('SIGKILL');
      await kept.exited;
    },
    freeze: () => kept.kill('SIGSTOP'),
    thaw: () => kept.kill('SIGCONT'),
    restart: async () => void (await start(new URL(url).port)),
    onEnd(handler) {
      ended = handler;
    },
  };
}

const describe = ({ code, signal }: Awaited<Kept['exited']>): string =>
  signal ?? `exit code ${code}`;
