/**
 * A real schema registry (Apicurio) on this machine: a Java process that keeps its schemas in a
 * file, so that they survive a kill. The process and the file end with this process, however this process ends.
 *
 *   npm run registry [-- --port N]          prints its address and runs until Ctrl-C
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findJava } from '../kafka/java.ts';
import { freePorts } from '../kafka/ports.ts';
import { type Kept, type KeptDirectory, keepDirectory, spawnKept } from '../process/kept.ts';
import { ensureRegistry } from './archive.ts';

export interface RegistryOptions {
  /** Port to listen on. Default: a free port. */
  readonly port?: number;
  /** Called for each step, with a short sentence. */
  readonly onProgress?: (message: string) => void;
}

export interface LocalRegistry {
  /** URL of the Confluent-compatible API, without a trailing slash. */
  readonly url: string;
  /** Port that it listens on, for proxies. */
  readonly port: number;
  /** Ends it at once and removes its schemas. Idempotent. */
  stop(): Promise<void>;
  /** Sends a signal. For SIGKILL (the default) and SIGTERM, resolves when the process is gone; otherwise at once. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Restarts it with the same address and schemas, ending it first if it runs. Resolves when it responds. */
  restart(): Promise<void>;
}

/** Maximum time in ms for a start: ten times what a busy two-core machine needs. */
const START_MS = 120_000;
const POLL_MS = 50;
const HEAP_MIB = 256;
const PORT_CHOICES = 5;
const LOG_TAIL = 25;

class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

/** @throws Error if Java or Maven is missing, or with the end of its log if it does not start */
export async function startRegistry({
  onProgress,
  port,
}: RegistryOptions = {}): Promise<LocalRegistry> {
  const java = await findJava();
  if ('missing' in java)
    throw new Error(`a schema registry needs Java 17 or later, and ${java.missing}`);
  const jar = await ensureRegistry(onProgress);
  for (let choice = 1; ; choice++) {
    const directory = await keepDirectory(path.join(tmpdir(), `local-registry-${randomUUID()}`));
    const registry = new ApicurioRegistry(
      java.java,
      jar,
      directory,
      port ?? ((await freePorts(1))[0] as number),
    );
    try {
      await registry.restart();
      return registry;
    } catch (error) {
      await registry.stop();
      if (!(error instanceof PortTaken) || choice === PORT_CHOICES || port !== undefined)
        throw error;
    }
  }
}

class ApicurioRegistry implements LocalRegistry {
  readonly url: string;
  readonly port: number;
  readonly #java: string;
  readonly #jar: string;
  readonly #directory: KeptDirectory;
  readonly #logFile: string;
  #process: Kept | undefined;

  constructor(java: string, jar: string, directory: KeptDirectory, port: number) {
    this.#java = java;
    this.#jar = jar;
    this.#directory = directory;
    this.#logFile = path.join(directory.path, 'registry.log');
    this.port = port;
    this.url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  }

  async restart(): Promise<void> {
    await this.#process?.stop(0);
    const temporary = path.join(this.#directory.path, 'tmp');
    await mkdir(temporary, { recursive: true });
    this.#process = await spawnKept({
      command: this.#java,
      args: [
        `-Xmx${HEAP_MIB}m`,
        '-XX:TieredStopAtLevel=1',
        '-XX:+UseSerialGC',
        '-XX:-UsePerfData',
        `-Djava.io.tmpdir=${temporary}`,
        '-Dquarkus.http.host=127.0.0.1',
        `-Dquarkus.http.port=${this.port}`,
        // The default is in memory: after a kill, the registry would be empty and reuse ids for other schemas.
        `-Dquarkus.datasource.jdbc.url=jdbc:h2:file:${path.join(this.#directory.path, 'schemas')};WRITE_DELAY=0`,
        // The default is twenty connections, opened one after another.
        '-Dquarkus.datasource.jdbc.initial-size=1',
        '-Dquarkus.datasource.jdbc.min-size=1',
        '-jar',
        this.#jar,
      ],
      cwd: this.#directory.path,
      logFile: this.#logFile,
    });
    await this.#ready(this.#process);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#process?.kill(signal);
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await this.#process?.exited;
  }

  async stop(): Promise<void> {
    await this.#process?.stop(0);
    await this.#directory.remove();
  }

  async #ready(started: Kept): Promise<void> {
    const deadlineMs = Date.now() + START_MS;
    for (;;) {
      const answer = await fetch(`${this.url}/subjects`, {
        signal: AbortSignal.timeout(5_000),
      }).catch(() => undefined);
      await answer?.body?.cancel();
      // The response may come from another process that took the port.
      if (started.exit !== undefined || Date.now() > deadlineMs)
        throw await this.#startFailure(started);
      if (answer?.ok) return;
      await sleep(POLL_MS);
    }
  }

  async #startFailure({ exit }: Kept): Promise<Error> {
    const log = await readFile(this.#logFile, 'utf8').catch(() => '');
    if (/already in use|Port .* seems to be in use/i.test(log))
      return new PortTaken(`port ${this.port} was taken by another process`);
    const how =
      exit === undefined
        ? `is not ready after ${START_MS / 1_000} s`
        : `ended with ${exit.signal ?? `code ${exit.code}`}`;
    return new Error(
      `the schema registry ${how}. The end of its log:\n${log.trimEnd().split('\n').slice(-LOG_TAIL).join('\n')}`,
    );
  }
}

if (import.meta.main) {
  const interrupted = Promise.race(
    ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => once(process, signal)),
  );
  const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
  const registry = await startRegistry({
    ...(port === undefined ? {} : { port: Number(port) }),
    onProgress: (message) => process.stderr.write(`${message}\n`),
  });
  process.stdout.write(`${registry.url}\nCtrl-C stops it and removes its schemas.\n`);
  const idle = setInterval(() => undefined, 60_000);
  await interrupted;
  clearInterval(idle);
  await registry.stop();
}
