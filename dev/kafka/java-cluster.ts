/** Cluster of Java processes on this machine. */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Kept, type KeptDirectory, keepDirectory, spawnKept } from '../process/kept.ts';
import { PortTaken, START_MS, startFailure, startOnPorts } from '../process/server.ts';
import { untilStopped } from '../process/stopped.ts';
import { javaArguments, runJava } from './java.ts';
import type { KafkaOptions, LocalKafka } from './local-kafka.ts';
import { freePorts, isFree } from './ports.ts';
import { untilReady } from './ready.ts';
import { type Node, propertiesFile, serverProperties } from './server-properties.ts';

const BROKER_HEAP_MIB = 512;
const TOOL_HEAP_MIB = 128;

interface Broker {
  readonly node: Node;
  readonly directory: string;
  readonly configFile: string;
  readonly logFile: string;
  process?: Kept;
}

export interface JavaKafka {
  readonly java: string;
  readonly jars: string;
  /** See class-archive.ts. All programs use `classArchive`; the broker writes `recordClasses` at its end. */
  readonly classArchive?: string | undefined;
  readonly recordClasses?: string;
}

export async function startJavaCluster(
  kafka: JavaKafka,
  options: KafkaOptions,
): Promise<LocalKafka> {
  const count = options.brokers ?? 1;
  return await startOnPorts(
    async () => {
      const directory = await keepDirectory(path.join(tmpdir(), `local-kafka-${randomUUID()}`));
      return new JavaCluster(kafka, options, directory, await chooseNodes(count, options));
    },
    (cluster) =>
      cluster.start().catch((error: unknown) => {
        options.signal?.throwIfAborted();
        throw error;
      }),
    options.port !== undefined,
  );
}

async function chooseNodes(
  count: number,
  { port: firstPort, proxyPorts, listeners = [] }: KafkaOptions,
): Promise<Node[]> {
  const ports = await freePorts(count * (3 + listeners.length));
  if (firstPort !== undefined) {
    for (let index = 0; index < count; index++) {
      if (!(await isFree(firstPort + index)))
        throw new Error(`port ${firstPort + index} is in use: choose another port, or none`);
      ports[index] = firstPort + index;
    }
  }
  return Array.from({ length: count }, (_, index) => {
    const advertised = proxyPorts?.[index];
    return {
      id: index + 1,
      port: ports[index] as number,
      controllerPort: ports[count + index] as number,
      more: listeners.map((options, at) => ({
        options,
        port: ports[(3 + at) * count + index] as number,
      })),
      ...(advertised === undefined
        ? {}
        : { proxied: { port: ports[2 * count + index] as number, advertised } }),
    };
  });
}

class JavaCluster implements LocalKafka {
  readonly brokers: string[];
  readonly behind: readonly number[];
  readonly listeners: ReadonlyMap<string, readonly string[]>;
  readonly dataDir: string;
  readonly description: string;
  readonly #kafka: JavaKafka;
  readonly #options: KafkaOptions;
  readonly #directory: KeptDirectory;
  readonly #brokers: readonly Broker[];
  readonly #clusterId = randomId();
  readonly #ended = Promise.withResolvers<string>();
  readonly ended = this.#ended.promise;
  #stopped = false;

  constructor(
    kafka: JavaKafka,
    options: KafkaOptions,
    directory: KeptDirectory,
    nodes: readonly Node[],
  ) {
    this.#kafka = kafka;
    this.#options = options;
    this.#directory = directory;
    this.dataDir = directory.path;
    this.brokers = nodes.map(({ port }) => `127.0.0.1:${port}`);
    this.listeners = new Map(
      (options.listeners ?? []).map(({ name }, at) => [
        name,
        nodes.map(({ more }) => `127.0.0.1:${more[at]?.port}`),
      ]),
    );
    this.behind = nodes.flatMap(({ proxied }) => proxied?.port ?? []);
    this.description = `Apache Kafka on Java (${nodes.length} ${nodes.length === 1 ? 'broker' : 'brokers'})`;
    this.#brokers = nodes.map((node) => {
      const home = path.join(directory.path, `broker-${node.id}`);
      return {
        node,
        directory: home,
        configFile: path.join(home, 'server.properties'),
        logFile: path.join(home, 'server.log'),
      };
    });
  }

  async start(): Promise<void> {
    const { signal } = this.#options;
    signal?.throwIfAborted();
    this.#options.onProgress?.('formatting the data directory');
    await mkdir(this.#temporary, { recursive: true });
    await Promise.all(this.#brokers.map((broker) => this.#format(broker, signal)));
    signal?.throwIfAborted();
    this.#options.onProgress?.(
      `starting ${this.#brokers.length === 1 ? 'the broker' : `${this.#brokers.length} brokers`}`,
    );
    await Promise.all(this.#brokers.map((broker) => this.#launch(broker)));
    await this.#ready(signal);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#brokers.map(({ process }) => process?.stop(0)));
    await this.#directory.remove();
  }

  async kill(index: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const running = this.#running(index);
    running.kill(signal);
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await running.exited;
    if (signal === 'SIGSTOP') await untilStopped(running.pid);
  }

  async restart(index: number): Promise<void> {
    const broker = this.#broker(index);
    if (broker.process?.exit === undefined) await broker.process?.stop(30_000);
    await this.#launch(broker);
    await this.#ready();
  }

  pid(index: number): number {
    return this.#running(index).pid;
  }

  tool(className: string, args: readonly string[]): Promise<string> {
    return this.#tool(className, args);
  }

  #tool(className: string, args: readonly string[], signal?: AbortSignal): Promise<string> {
    const { java, jars, classArchive } = this.#kafka;
    const common = { className, args, jars, classArchive, temporary: this.#temporary };
    return runJava(java, { ...common, maxHeapMiB: TOOL_HEAP_MIB, logLevel: 'error' }, signal);
  }

  get #temporary(): string {
    return path.join(this.dataDir, 'tmp');
  }

  #broker(index: number): Broker {
    const broker = this.#brokers[index];
    if (broker === undefined)
      throw new RangeError(
        `there is no broker ${index}: this cluster has ${this.#brokers.length}, counted from 0`,
      );
    if (this.#stopped) throw new Error('this cluster is stopped');
    return broker;
  }

  #running(index: number): Kept {
    const { process } = this.#broker(index);
    if (process === undefined || process.exit !== undefined)
      throw new Error(`broker ${index} is not running`);
    return process;
  }

  /**
   * Formats a data directory. Kafka's own tool takes half a second of processor time per broker, so
   * its result is cached beside the jars: it contains the versions of Kafka's features, which
   * depend only on the jars.
   */
  async #format(
    { node, directory, configFile }: Broker,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    await mkdir(directory, { recursive: true });
    const nodes = this.#brokers.map((broker) => broker.node);
    const places = { bindHost: '127.0.0.1', dataDir: path.join(directory, 'data') };
    await writeFile(
      configFile,
      propertiesFile(serverProperties(node, nodes, places, this.#options.properties)),
    );
    const { scramUsers = [] } = this.#options;
    const common = scramUsers.length === 0 ? `${this.#kafka.jars}.checkpoint` : undefined;
    const checkpoint = path.join(places.dataDir, 'bootstrap.checkpoint');
    if (common !== undefined && existsSync(common)) {
      await mkdir(places.dataDir);
      await copyFile(common, checkpoint);
      const properties = {
        version: '1',
        'cluster.id': this.#clusterId,
        'node.id': String(node.id),
        'directory.id': randomId(),
      };
      await writeFile(path.join(places.dataDir, 'meta.properties'), propertiesFile(properties));
      return;
    }
    const users = scramUsers.flatMap(({ mechanism, name, password }) => [
      '--add-scram',
      `${mechanism}=[name=${name},password=${password}]`,
    ]);
    const format = ['format', '--cluster-id', this.#clusterId, '--config', configFile, ...users];
    await this.#tool('kafka.tools.StorageTool', format, signal);
    // Newer versions do not write this file.
    if (common === undefined || !existsSync(checkpoint)) return;
    const unfinished = `${common}.${randomUUID()}`;
    await copyFile(checkpoint, unfinished);
    await rename(unfinished, common);
  }

  async #launch(broker: Broker): Promise<void> {
    const { java, jars, classArchive, recordClasses } = this.#kafka;
    broker.process = await spawnKept({
      command: java,
      args: javaArguments({
        className: 'kafka.Kafka',
        args: [broker.configFile],
        jars,
        classArchive,
        recordClasses,
        temporary: this.#temporary,
        maxHeapMiB: BROKER_HEAP_MIB,
        logLevel: 'warn',
      }),
      cwd: broker.directory,
      logFile: broker.logFile,
    });
    void broker.process.exited.then(({ code, signal }) => {
      if (!this.#stopped)
        this.#ended.resolve(`broker ${broker.node.id} ended (${signal ?? `exit code ${code}`})`);
    });
  }

  async #ready(interrupted?: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const running = this.#brokers.filter(
      ({ process }) => process !== undefined && process.exit === undefined,
    );
    for (const broker of running) void broker.process?.exited.then(() => ended.abort(broker));
    try {
      await untilReady({
        brokers: running.map(({ node }) => `127.0.0.1:${node.port}`),
        count: running.length,
        clusterId: this.#clusterId,
        deadlineMs: Date.now() + START_MS,
        signal:
          interrupted === undefined ? ended.signal : AbortSignal.any([ended.signal, interrupted]),
      });
    } catch (error) {
      interrupted?.throwIfAborted();
      const culprit = ended.signal.aborted
        ? (ended.signal.reason as Broker)
        : (running[0] as Broker);
      if (error instanceof PortTaken) throw error;
      const { node, process, logFile } = culprit;
      throw await startFailure(`Kafka broker ${node.id}`, process?.exit, logFile, error);
    }
  }
}

/** Returns a Kafka Uuid: 16 bytes in base64url, without a leading dash, which would look like an option. */
function randomId(): string {
  for (;;) {
    const id = randomBytes(16).toString('base64url');
    if (!id.startsWith('-')) return id;
  }
}
