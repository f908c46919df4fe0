/**
 * A real schema registry (Apicurio) on this machine: a Java process that keeps its schemas in a
 * file, so that they survive a kill. The process and the file end with this process, however this process ends.
 *
 *   npm run registry [-- --port N]          prints its address and runs until Ctrl-C
 */

import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findJava } from '../kafka/java.ts';
import { freePorts } from '../kafka/ports.ts';
import { type Kept, type KeptDirectory, keepDirectory, spawnKept } from '../process/kept.ts';
import { START_MS, startFailure, startOnPorts, untilInterrupted } from '../process/server.ts';
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

const POLL_MS = 50;
const HEAP_MIB = 256;

/** @throws Error if Java or Maven is missing, or with the end of its log if it does not start */
export async function startRegistry({
  onProgress,
  port,
}: RegistryOptions = {}): Promise<LocalRegistry> {
  const java = await findJava();
  if ('missing' in java)
    throw new Error(`a schema registry needs Java 17 or later, and ${java.missing}`);
  const jar = await ensureRegistry(onProgress);
  return await startOnPorts(
    async () => {
      const directory = await keepDirectory(path.join(tmpdir(), `local-registry-${randomUUID()}`));
      const [free] = (await freePorts(1)) as [number];
      return new ApicurioRegistry(java.java, jar, directory, port ?? free);
    },
    (registry) => registry.restart(),
    port !== undefined,
  );
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
        throw await startFailure('the schema registry', started.exit, this.#logFile);
      if (answer?.ok) return;
      await sleep(POLL_MS);
    }
  }
}

if (import.meta.main) {
  const interrupted = untilInterrupted();
  const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
  const registry = await startRegistry({
    ...(port === undefined ? {} : { port: Number(port) }),
    onProgress: (message) => process.stderr.write(`${message}\n`),
  });
  process.stdout.write(`${registry.url}\nCtrl-C stops it and removes its schemas.\n`);
  await interrupted;
  await registry.stop();
}
