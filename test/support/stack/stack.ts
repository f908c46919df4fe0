/**
 * The whole product as real processes, for tests that run, kill and check it: topics on a real broker, the sandbox
 * and any number of connector replicas.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { type Kept, spawnKept } from '../../../dev/process/kept.ts';
import { type TestKafka, uniqueName } from '../kafka/kafka.ts';
import { assertSilent, CANARY, secretIn } from './canary.ts';

const CLI = new URL('../../../src/cli/main.ts', import.meta.url).pathname;
const SERVICE = new URL('../service/main.ts', import.meta.url).pathname;
const API_KEY = CANARY.key;
/**
 * Maximum wait for a log line, ms. It is shorter than the limit of a test file, so that the error can name the line.
 */
const LOGGED_MS = 180_000;
const SERVED_MS = 5_000;
/** Paths that a replica serves. */
const PAGES = ['/', '/metrics', '/livez', '/readyz', '/api/state'];

/** Setup of one pipeline. */
export interface PipelineSetup {
  /** Partitions of the source topic. */
  readonly partitions: number;
  /** Settings of the source topic, by Kafka's names. */
  readonly sourceSettings?: Readonly<Record<string, string>>;
  /** Partitions of the decisions topic. Default: 3. */
  readonly decisionPartitions?: number;
  /** Merged into the pipeline's configuration, two levels deep. */
  readonly pipeline?: Readonly<Record<string, unknown>>;
}

export interface StackOptions extends PipelineSetup {
  /** Further pipelines of the same processes. Each needs a name in its configuration. */
  readonly beside?: readonly PipelineSetup[];
  /** Merged into the configuration, two levels deep. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Node arguments that start the connector's command line. Default: from source. */
  readonly connector?: readonly string[];
  /** Called when a replica's output contains a secret. Default: throws it as an uncaught error. */
  readonly onLeak?: (error: Error) => void;
  /** Policy of the sandbox, with a script of faults. */
  readonly policy?: Readonly<Record<string, unknown>>;
}

export interface StackTopics {
  readonly source: string;
  readonly decisions: string;
  readonly deadLetters: string;
  readonly journal: string;
}

/** A pipeline of a stack. */
export interface StackPipeline {
  readonly name: string;
  readonly topics: StackTopics;
  readonly group: string;
}

export type LogLine = Readonly<Record<string, unknown>>;

export class Replica {
  readonly name: string;
  readonly process: Kept;
  readonly lines: string[];
  readonly #waiting = new Set<() => void>();

  constructor(name: string, kept: Kept, lines: string[], waiting: Set<() => void>) {
    this.name = name;
    this.process = kept;
    this.lines = lines;
    this.#waiting = waiting;
  }

  /**
   * Resolves with the first log line (parsed) whose message is `message`, past or future. Rejects if the replica
   * ends first or does not log it in time.
   * @param from index of the first line to check; `lines.length` waits for a future one
   */
  async logged(
    message: string,
    {
      from = 0,
      where = () => true,
    }: { readonly from?: number; readonly where?: (line: LogLine) => boolean } = {},
  ): Promise<LogLine> {
    const late = AbortSignal.timeout(LOGGED_MS);
    const patience = new Promise<'late'>((resolve) =>
      late.addEventListener('abort', () => resolve('late'), { once: true }),
    );
    for (let at = from; ; ) {
      for (; at < this.lines.length; at++) {
        const line = parseLogLine(this.lines[at] as string);
        if (line?.msg === message && where(line)) return line;
      }
      const more = Promise.withResolvers<void>();
      this.#waiting.add(more.resolve);
      const ended = this.process.exited.then(() => 'ended' as const);
      const first = await Promise.race([more.promise, ended, patience]);
      this.#waiting.delete(more.resolve);
      if (first !== undefined && at === this.lines.length) {
        const what =
          first === 'ended' ? 'ended before it logged' : `in ${LOGGED_MS / 1_000} s did not log`;
        throw new Error(
          `${this.name} ${what} ${JSON.stringify(message)}:\n${this.lines.slice(-20).join('\n')}`,
        );
      }
    }
  }

  /** Address of /metrics, /livez and /readyz. */
  async url(): Promise<string> {
    return String((await this.logged('metrics and health')).url);
  }

  /** Checks all pages. @returns the first secret found and its page, or undefined */
  async secretServed(): Promise<string | undefined> {
    const url = await this.url();
    for (const page of PAGES) {
      const found = secretIn(
        await (await fetch(`${url}${page}`, { signal: AbortSignal.timeout(SERVED_MS) })).text(),
      );
      if (found !== undefined) return `"${found}" on ${page}`;
    }
    return undefined;
  }

  /** Sum of a metric's series whose labels match. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const text = await (await fetch(`${await this.url()}/metrics`)).text();
    assertSilent(text, `the metrics of ${this.name}`);
    assertSilent(
      await (await fetch(`${await this.url()}/api/state`)).text(),
      `the console of ${this.name}`,
    );
    let sum = 0;
    for (const line of text.split('\n')) {
      if (
        !line.startsWith(`content_review_${name}{`) &&
        !line.startsWith(`content_review_${name} `)
      )
        continue;
      if (Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
        sum += Number(line.split(' ').at(-1));
    }
    return sum;
  }
}

export class Stack {
  /** Pipelines in the order of the configuration. */
  readonly pipelines: readonly StackPipeline[];
  /** Topics of the first pipeline, usually the only one. */
  readonly topics: StackTopics;
  readonly group: string;
  readonly sandboxUrl: string;
  readonly sandbox: Kept;
  readonly configFile: string;
  readonly replicas: Replica[] = [];
  readonly #connector: readonly string[];
  readonly #onLeak: ((error: Error) => void) | undefined;

  constructor(
    pipelines: readonly [StackPipeline, ...StackPipeline[]],
    sandboxUrl: string,
    sandbox: Kept,
    configFile: string,
    { connector = [CLI], onLeak }: Pick<StackOptions, 'connector' | 'onLeak'> = {},
  ) {
    this.#connector = connector;
    this.#onLeak = onLeak;
    this.pipelines = pipelines;
    this.topics = pipelines[0].topics;
    this.group = pipelines[0].group;
    this.sandboxUrl = sandboxUrl;
    this.sandbox = sandbox;
    this.configFile = configFile;
  }

  /** @param connector node arguments that start another command line than the stack's */
  async startReplica(
    env: Readonly<Record<string, string>> = {},
    connector = this.#connector,
  ): Promise<Replica> {
    const replica = await spawnReplica(
      `replica-${this.replicas.length + 1}`,
      this.configFile,
      env,
      connector,
      this.#onLeak,
    );
    this.replicas.push(replica);
    return replica;
  }

  /** Ends every process. */
  async stop(): Promise<void> {
    await Promise.all(this.replicas.map(({ process: kept }) => kept.stop(0)));
    await this.sandbox.stop(0);
  }
}

/** Starts a connector in its own process. The replica's `process` stops it. */
export async function spawnReplica(
  name: string,
  configFile: string,
  env: Readonly<Record<string, string>> = {},
  connector: readonly string[] = [CLI],
  onLeak: (error: Error) => void = thrownLater,
): Promise<Replica> {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const kept = await spawnKept({
    command: process.execPath,
    args: [...connector, 'run', '--config', configFile],
    env: { ...process.env, LOG_FORMAT: 'json', ...env },
    onLine: (line) => {
      lines.push(line);
      try {
        assertSilent(line, `the output of ${name}`);
      } catch (error) {
        onLeak(error as Error);
      }
      for (const wake of [...waiting]) wake();
    },
  });
  return new Replica(name, kept, lines, waiting);
}

/** Throws an uncaught error, which fails the test file even if no test checks the output. */
function thrownLater(error: Error): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** A sandbox in its own process. */
export interface SandboxProcess {
  readonly sandbox: Kept;
  readonly url: string;
}

/** Creates the topics and starts the sandbox. `directory` receives its policy and the configuration. */
export async function startStack(
  kafka: TestKafka,
  directory: string,
  options: StackOptions,
): Promise<Stack> {
  return await createStack(
    kafka,
    directory,
    await startSandboxProcess(directory, options.policy ?? {}),
    options,
  );
}

/** Creates the topics and writes the configuration for a shared sandbox, where each stack has its own content type. */
export async function createStack(
  kafka: TestKafka,
  directory: string,
  { sandbox, url }: SandboxProcess,
  options: Omit<StackOptions, 'policy'>,
): Promise<Stack> {
  const [first, ...others] = await Promise.all([
    preparePipeline(kafka, options),
    ...(options.beside ?? []).map((setup) => preparePipeline(kafka, setup)),
  ]);
  const configFile = path.join(directory, 'connector.yaml');
  const config = {
    kafka: { brokers: kafka.brokers },
    service: { baseUrl: url, apiKey: API_KEY },
    http: { port: 0 },
    pipelines: [first, ...others].map(({ config: pipeline }) => pipeline),
  };
  writeFileSync(configFile, stringify(merge(config, options.config ?? {})));
  return new Stack([first, ...others], url, sandbox, configFile, options);
}

/** Creates the topics of a pipeline. @returns the pipeline with its configuration */
async function preparePipeline(
  kafka: TestKafka,
  { partitions, sourceSettings = {}, decisionPartitions = 3, pipeline = {} }: PipelineSetup,
): Promise<StackPipeline & { readonly config: object }> {
  const [source, decisions, deadLetters] = await Promise.all([
    kafka.createTopic('content', { partitions, settings: sourceSettings }),
    kafka.createTopic('decisions', { partitions: decisionPartitions }),
    kafka.createTopic('dead-letters'),
  ]);
  const topics = { source, decisions, deadLetters, journal: uniqueName('journal') };
  const group = uniqueName('group');
  const usual = {
    name: 'reviews',
    source: { topic: topics.source, group },
    journal: { topic: topics.journal },
    output: { topic: topics.decisions },
    deadLetters: { topic: topics.deadLetters },
  };
  const config = merge(usual, pipeline);
  return { name: String(config.name), topics, group, config };
}

/** Starts a sandbox; `directory` receives its policy. */
export async function startSandboxProcess(
  directory: string,
  policy: Readonly<Record<string, unknown>>,
): Promise<SandboxProcess> {
  const policyFile = path.join(directory, 'policy.yaml');
  writeFileSync(policyFile, stringify(policy));
  const listening = Promise.withResolvers<string>();
  const lines: string[] = [];
  const sandbox = await spawnKept({
    command: process.execPath,
    args: [SERVICE, policyFile, API_KEY],
    onLine: (line) => {
      lines.push(line);
      const url = /listening on (\S+)/.exec(line)?.[1];
      if (url !== undefined) listening.resolve(url);
    },
  });
  void sandbox.exited.then(() =>
    listening.reject(new Error(`the sandbox did not start:\n${lines.join('\n')}`)),
  );
  return { sandbox, url: await listening.promise };
}

/** Merges `changes` into `base`, down to `depth` levels of objects. */
export function merge(
  base: Readonly<Record<string, unknown>>,
  changes: Readonly<Record<string, unknown>>,
  depth = 2,
): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(changes)) {
    const below = merged[key];
    const both = depth > 0 && isObject(value) && isObject(below);
    merged[key] = both ? merge(below, value, depth - 1) : value;
  }
  return merged;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns undefined for a line that is not JSON, such as a warning of Node. */
export function parseLogLine(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return undefined;
  }
}
