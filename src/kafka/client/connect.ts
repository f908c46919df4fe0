/** Kafka clients: one kafkajs instance for each use, each with sockets that can be ended at once. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type {
  Cluster,
  ISocketFactoryArgs,
  Kafka as KafkaClient,
  RetryOptions,
  SASLOptions,
} from 'kafkajs';
import type { Logger } from '../../core/ports/telemetry.ts';
import { CLIENT_CLOSED, Kafka, logLevel, preparedBy } from '../kafkajs/patches.ts';
import type { Security } from '../security/security.ts';
import { SecurityError } from '../security/security-error.ts';
import { clientLog } from './client-log.ts';

export interface ConnectOptions {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Absent: plain connections without a login. */
  readonly security?: Security;
  /** What is done with topics (READ, WRITE, READ and WRITE): for messages about rights that are missing. */
  readonly uses?: ReadonlyMap<string, string>;
  /** The same for groups; READ by default. */
  readonly groupUse?: string;
  /** Default 5,000 ms. */
  readonly connectionTimeoutMs?: number;
  /** Longest wait for an answer, 30,000 ms by default. */
  readonly requestTimeoutMs?: number;
}

const KEEP_ALIVE_MS = 60_000;
const TLS_ALERT = 0x15;
const TLS_MAJOR = 3;

/**
 * One kafkajs instance. A consumer and a producer must not share one: they share a cache of committed offsets, which a
 * producer marks before its transaction is committed.
 */
export class Client {
  readonly kafka: KafkaClient;
  readonly #security: Security | undefined;
  readonly #sockets = new Set<Socket>();
  #closed = false;

  constructor(options: ConnectOptions, logger: Logger, retry: RetryOptions) {
    const { security } = options;
    this.#security = security;
    this.kafka = new Kafka({
      brokers: [...options.brokers],
      clientId: options.clientId,
      ...(security?.encrypted ? { ssl: true } : {}),
      // kafkajs's types know no mechanism without its built-in provider's options.
      ...(security?.sasl === undefined ? {} : { sasl: security.sasl as unknown as SASLOptions }),
      connectionTimeout: options.connectionTimeoutMs ?? 5_000,
      requestTimeout: options.requestTimeoutMs ?? 30_000,
      retry,
      socketFactory: preparedBy(
        (args: ISocketFactoryArgs) => this.#open(args),
        async () => security?.prepare(),
      ),
      logLevel: logLevel.WARN,
      logCreator: clientLog(logger),
    });
  }

  /**
   * Ends the client: `disconnect` gets `graceMs`, then its sockets are cut and no new one can be opened. Repeatable, never
   * throws.
   */
  async close(disconnect: () => Promise<unknown>, graceMs: number): Promise<void> {
    if (this.#closed) return;
    await settledWithin(disconnect(), graceMs);
    this.#closed = true;
    for (const socket of this.#sockets) {
      // kafkajs gives up the requests that still wait for an answer only when it is told of an error.
      if (socket.writableEnded) socket.destroy();
      else socket.destroy(new Error(CLIENT_CLOSED));
    }
  }

  #open({ host, port, onConnect }: ISocketFactoryArgs): Socket {
    if (this.#closed) throw new Error(CLIENT_CLOSED);
    const name = isIP(host) === 0 ? { servername: host } : {};
    const security = this.#security?.encrypted ? this.#security : undefined;
    const socket = security
      ? connectTls({ host, port, ...name, ...security.tls }, onConnect)
      : noticeTls(connectTcp({ host, port }, onConnect));
    security?.watch(socket, `${host}:${port}`);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/**
 * Some brokers answer a request in plain text with a TLS alert before they close; kafkajs would take it for the length of a
 * very long answer.
 */
function noticeTls(socket: Socket): Socket {
  socket.once('data', (first: Buffer) => {
    if (first[0] === TLS_ALERT && first[1] === TLS_MAJOR)
      socket.destroy(
        new SecurityError(
          'this port speaks TLS: set kafka.tls.enabled to true, or take another port of the broker',
        ),
      );
  });
  return socket;
}

/** Resolves when the promise settles, whichever way, or after `ms`. @returns whether it settled in time. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    const settled = promise.then(
      () => true,
      () => true,
    );
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The cluster connection inside a kafkajs consumer, for requests that need no group. kafkajs hands it to assigners; the
 * consumer around it is never run, so that its group never exists.
 */
export function clusterOf(client: Client, metadataMaxAgeMs: number): Cluster {
  let cluster: Cluster | undefined;
  client.kafka.consumer({
    groupId: 'never-joined',
    allowAutoTopicCreation: false,
    metadataMaxAge: metadataMaxAgeMs,
    partitionAssigners: [
      (given) => {
        cluster = given.cluster;
        return {
          name: 'none',
          version: 0,
          assign: async () => [],
          protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }),
        };
      },
    ],
  });
  if (cluster === undefined)
    throw new Error('kafkajs gave no cluster to the assigner: is this version 2.2.4?');
  return cluster;
}
