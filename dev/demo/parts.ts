/** The sandbox and the connector, each as the process that a user would start. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { abortable } from '../../src/base/abortable.ts';
import { type Kept, spawnKept } from '../process/kept.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CLI = path.join(ROOT, 'src/cli/main.ts');
const API_KEY = 'demo-key';
const LOG_TAIL = 15;
const START_MS = 30_000;

export const CONFIG_FILE = 'config/demo.yaml';
export const POLICY_FILE = 'config/sandbox-policy.yaml';

export interface PartContext {
  /** For logs and data; removed at the end. */
  readonly directory: string;
  /** Aborted when the demo ends early. */
  readonly over: AbortSignal;
  /** Reports a part that ended unexpectedly. */
  readonly failed: (error: Error) => void;
}

export interface Part {
  readonly url: string;
  /** The last lines of its log. */
  tail(): string;
  /** SIGTERM, then SIGKILL after `graceMs`. @returns a description of the end, or undefined for exit code 0 */
  stop(graceMs: number): Promise<string | undefined>;
}

/** The reference Content Review Service. */
export function startSandbox(context: PartContext): Promise<Part> {
  const data = path.join(context.directory, 'sandbox');
  const args = ['--port', '0', '--policy', path.join(ROOT, POLICY_FILE), '--data', data];
  return startPart(context, 'sandbox', /^sandbox listening on (\S+)/, ['sandbox', ...args], {
    SANDBOX_API_KEYS: API_KEY,
  });
}

export function startConnector(
  context: PartContext,
  brokers: readonly string[],
  prefix: string,
  sandboxUrl: string,
): Promise<Part> {
  const args = ['run', '--config', path.join(ROOT, CONFIG_FILE)];
  return startPart(context, 'connector', /\bmetrics and health\b.*\burl=(\S+)/, args, {
    KAFKA_BROKERS: brokers.join(','),
    SERVICE_URL: sandboxUrl,
    SERVICE_API_KEY: API_KEY,
    NAME_PREFIX: prefix,
    LOG_LEVEL: 'info',
    LOG_FORMAT: 'text',
  });
}

/** @param address finds the address of the part in a line of its output */
async function startPart(
  { directory, over, failed }: PartContext,
  name: string,
  address: RegExp,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Part> {
  const last: string[] = [];
  const up = Promise.withResolvers<string>();
  const kept = await spawnKept({
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
  const tail = () => last.map((line) => `    ${line}`).join('\n') || '    (it wrote nothing)';
  const logged = (what: string) => new Error(`The ${name} ${what}. The end of its log:\n${tail()}`);
  let stopping = false;
  void kept.exited.then((exit) => {
    const error = logged(`ended by itself with ${describe(exit)}`);
    up.reject(error);
    if (!stopping) failed(error);
  });
  async function stop(graceMs: number): Promise<string | undefined> {
    stopping = true;
    const exit = await kept.stop(graceMs);
    return exit.code === 0 ? undefined : `it ended with ${describe(exit)}`;
  }
  const timer = setTimeout(
    () => up.reject(logged(`did not report its address within ${START_MS / 1_000} s`)),
    START_MS,
  );
  try {
    return { url: await abortable(up.promise, over), tail, stop };
  } catch (error) {
    await stop(0);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const describe = ({ code, signal }: Awaited<Kept['exited']>): string =>
  signal ?? `exit code ${code}`;
