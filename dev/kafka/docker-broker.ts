/** Broker in a container (image `apache/kafka`), for machines with Docker but without Java. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { type Kept, spawnKept } from '../process/kept.ts';
import type { Missing } from './java.ts';
import type { KafkaOptions, LocalKafka } from './local-kafka.ts';
import { freePorts } from './ports.ts';
import { untilReady } from './ready.ts';
import { serverProperties } from './server-properties.ts';

const execute = promisify(execFile);

/** Maximum wait in ms for the engine: `docker version` hangs if the engine does. */
const ENGINE_MS = 10_000;
/** Maximum time in ms for a start, including the download of the image. */
const START_MS = 300_000;
const LOG_TAIL = 25;

/** Finds a running Docker engine. An installed client is not enough. */
export async function findDocker(): Promise<{ readonly docker: 'docker' } | Missing> {
  try {
    await execute('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: ENGINE_MS });
    return { docker: 'docker' };
  } catch (error) {
    const { code, stderr = '' } = error as { code?: string | number; stderr?: string };
    if (code === 'ENOENT') return { missing: 'docker was not found' };
    return { missing: stderr.trim().split('\n').at(-1) || 'docker does not respond' };
  }
}

export async function startDockerBroker(
  version: string,
  options: KafkaOptions,
): Promise<LocalKafka> {
  if (options.brokers === 3) {
    throw new Error(
      'three brokers need Java 17 or later and Maven: Docker supports only one (dev/kafka/docker-broker.ts)',
    );
  }
  if (options.listeners !== undefined || options.scramUsers !== undefined)
    throw new Error(
      'additional listeners need Java 17 or later and Maven: Docker supports only the plain one (dev/kafka/docker-broker.ts)',
    );
  const [free, controllerPort] = (await freePorts(2)) as [number, number];
  const node = { id: 1, port: options.port ?? free, controllerPort, more: [] };
  const properties = serverProperties(
    node,
    [node],
    { bindHost: '0.0.0.0', dataDir: '/tmp/kraft-combined-logs' },
    options.properties,
  );
  const image = `apache/kafka:${version}`;
  const name = `local-kafka-${randomUUID()}`;
  options.onProgress?.(`starting ${image} in Docker (downloads the image the first time)`);
  const broker = new DockerBroker(name, image, node.port);
  try {
    await broker.start(properties, options.signal);
    return broker;
  } catch (error) {
    await broker.stop();
    options.signal?.throwIfAborted();
    throw error;
  }
}

class DockerBroker implements LocalKafka {
  readonly brokers: string[];
  readonly dataDir = undefined;
  readonly description: string;
  readonly #name: string;
  readonly #image: string;
  readonly #port: number;
  readonly #output: string[] = [];
  readonly #ended = Promise.withResolvers<string>();
  readonly ended = this.#ended.promise;
  #client: Kept | undefined;

  constructor(name: string, image: string, port: number) {
    this.#name = name;
    this.#image = image;
    this.#port = port;
    this.brokers = [`127.0.0.1:${port}`];
    this.description = `${image} in Docker`;
  }

  async start(
    properties: Readonly<Record<string, string>>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const settings = Object.entries(properties).flatMap(([key, value]) => [
      '--env',
      `${environmentName(key)}=${value}`,
    ]);
    await this.#attach(
      [
        'run',
        '--name',
        this.#name,
        '--publish',
        `127.0.0.1:${this.#port}:${this.#port}`,
        '--env',
        'KAFKA_HEAP_OPTS=-Xmx512m',
        ...settings,
        this.#image,
      ],
      signal,
    );
  }

  async stop(): Promise<void> {
    await execute('docker', ['rm', '--force', '--volumes', this.#name]).catch(() => undefined);
    await this.#client?.stop();
  }

  async kill(index: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#check(index);
    // The engine responds when the signal is sent. The attached client ends when the container has ended.
    await execute('docker', ['kill', '--signal', signal, this.#name]);
    if (signal === 'SIGKILL' || signal === 'SIGTERM') await this.#client?.exited;
  }

  async restart(index: number): Promise<void> {
    this.#check(index);
    if (this.#client?.exit === undefined) {
      await execute('docker', ['stop', this.#name]);
      await this.#client?.exited;
    }
    await this.#attach(['start', '--attach', this.#name]);
  }

  pid(): number {
    throw new Error(
      'a broker in Docker has no process id on this machine: use kill(index, signal)',
    );
  }

  #check(index: number): void {
    if (index !== 0) throw new RangeError(`there is no broker ${index}: Docker has only broker 0`);
  }

  async #attach(args: readonly string[], interrupted?: AbortSignal): Promise<void> {
    const client = await spawnKept({
      command: 'docker',
      args,
      onLine: (line) => {
        this.#output.push(line);
        if (this.#output.length > LOG_TAIL) this.#output.shift();
      },
      // Killing only the client would leave the container running.
      closing: [{ command: 'docker', args: ['rm', '--force', '--volumes', this.#name] }],
    });
    this.#client = client;
    const ended = new AbortController();
    void client.exited.then(({ code }) => {
      const what = `the Kafka container ended with code ${code}`;
      ended.abort(new Error(`${what}:\n${this.#output.join('\n')}`));
      this.#ended.resolve(what);
    });
    const signal =
      interrupted === undefined ? ended.signal : AbortSignal.any([ended.signal, interrupted]);
    await untilReady({
      brokers: this.brokers,
      count: 1,
      deadlineMs: Date.now() + START_MS,
      signal,
    });
  }
}

/** Returns the image's name for a setting: dots become one underscore, underscores two, dashes three. */
function environmentName(property: string): string {
  return `KAFKA_${property.replaceAll('_', '__').replaceAll('-', '___').replaceAll('.', '_').toUpperCase()}`;
}
