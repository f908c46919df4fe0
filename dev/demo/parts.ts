/** The sandbox and the connector, each as the process that a user would start. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Kept, spawnKept } from '../process/kept.ts';
import type { ClosingCommand } from '../process/protocol.ts';
import { unlessEnded } from './ending.ts';
import type { DemoNames } from './topics.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CLI = path.join(ROOT, 'src/cli/main.ts');
const API_KEY = 'demo-key';
const LOG_TAIL = 15;
/** Longest start, ms. */
const START_MS = 30_000;

export const CONFIG_FILE = 'config/demo.yaml';
export const POLICY_FILE = 'config/sandbox-policy.yaml';

/** Context of all parts. */
export interface PartContext {
  /** Removed at the end; logs and data go here. */
  readonly directory: string;
  /** Aborted when the demo ends early. */
  readonly over: AbortSignal;
  /** A part ended that should not have. */
  readonly failed: (error: Error) => void;
}

export interface Part {
  readonly url: string;
  /** The last lines of its log. */
  tail(): string;
  /** SIGTERM, then SIGKILL after `graceMs`. @returns how it ended: undefined for a clean end, else in words. */
  stop(graceMs: number): Promise<string | undefined>;
}

/** The reference Content Review Service. `closing` runs when the demo is killed. */
export function startSandbox(
  context: PartContext,
  closing: readonly ClosingCommand[],
): Promise<Part> {
  return startPart(context, {
    name: 'sandbox',
    args: [
      'sandbox',
      '--port',
      '0',
      '--policy',
      path.join(ROOT, POLICY_FILE),
      '--data',
      path.join(context.directory, 'sandbox'),
    ],
    env: { SANDBOX_API_KEYS: API_KEY },
    url: /^sandbox listening on (\S+)/,
    closing,
  });
}

export function startConnector(
  context: PartContext,
  {
    brokers,
    names,
    sandboxUrl,
  }: { brokers: readonly string[]; names: DemoNames; sandboxUrl: string },
): Promise<Part> {
  return startPart(context, {
    name: 'connector',
    args: ['run', '--config', path.join(ROOT, CONFIG_FILE)],
    env: {
      KAFKA_BROKERS: brokers.join(','),
      SERVICE_URL: sandboxUrl,
      SERVICE_API_KEY: API_KEY,
      NAME_PREFIX: names.prefix,
      LOG_LEVEL: 'info',
      LOG_FORMAT: 'text',
    },
    url: /\bmetrics and health\b.*\burl=(\S+)/,
    closing: [],
  });
}

interface PartOptions {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Finds the part's address in a line of its output. */
  readonly url: RegExp;
  readonly closing: readonly ClosingCommand[];
}

async function startPart(
  context: PartContext,
  { name, args, env, url, closing }: PartOptions,
): Promise<Part> {
  const logFile = path.join(context.directory, `${name}.log`);
  const last: string[] = [];
  const up = Promise.withResolvers<string>();
  const kept = await spawnKept({
    command: process.execPath,
    args: [CLI, ...args],
    env: { ...process.env, ...env },
    logFile,
    closing,
    onLine: (line) => {
      last.push(line);
      if (last.length > LOG_TAIL) last.shift();
      const found = url.exec(line)?.[1];
      if (found !== undefined) up.resolve(found);
    },
  });
  const tail = () => last.map((line) => `    ${line}`).join('\n') || '    (it wrote nothing)';
  let stopping = false;
  void kept.exited.then((exit) => {
    const error = new Error(
      `The ${name} ended by itself with ${describe(exit)}. The end of its log:\n${tail()}`,
    );
    up.reject(error);
    if (!stopping) context.failed(error);
  });
  async function stop(graceMs: number): Promise<string | undefined> {
    stopping = true;
    const exit = await kept.stop(graceMs);
    return exit.code === 0 ? undefined : `it ended with ${describe(exit)}`;
  }
  const timer = setTimeout(() => {
    up.reject(
      new Error(
        `The ${name} did not say its address within ${START_MS / 1_000} s. The end of its log:\n${tail()}`,
      ),
    );
  }, START_MS);
  try {
    return { url: await unlessEnded(context.over, up.promise), tail, stop };
  } catch (error) {
    await stop(0);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function describe({ code, signal }: Awaited<Kept['exited']>): string {
  return signal ?? `exit code ${code}`;
}
