/** Kafka clients: one kafkajs instance for each use, each with sockets that can be ended at once. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import type { Cluster, ISocketFactoryArgs, Kafka as KafkaClient, RetryOptions, SASLOptions } from 'kafkajs';
import type { Logger } from '../core/ports/telemetry.ts';
import { clientLog } from './client-log.ts';
import { registerCodecs } from './codecs.ts';
import { CLIENT_CLOSED, Kafka, logLevel } from './kafkajs-fixes.ts';

registerCodecs();

export interface ConnectOptions {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly ssl?: ConnectionOptions | boolean;
  readonly sasl?: SASLOptions;
  /** Default 5,000 ms. */
  readonly connectionTimeoutMs?: number;
  /** Longest wait for an answer, 30,000 ms by default. */
  readonly requestTimeoutMs?: number;
}

const KEEP_ALIVE_MS = 60_000;

/**
 * One kafkajs instance. A consumer and a producer must not share one: they share a cache of committed offsets, which a
 * producer marks before its transaction is committed.
 */
export class Client {
  readonly kafka: KafkaClient;
  readonly #sockets = new Set<Socket>();
  #closed = false;

  constructor(options: ConnectOptions, logger: Logger, retry: RetryOptions) {
    this.kafka = new Kafka({
      brokers: [...options.brokers],
      clientId: options.clientId,
      ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
      ...(options.sasl === undefined ? {} : { sasl: options.sasl }),
      connectionTimeout: options.connectionTimeoutMs ?? 5_000,
      requestTimeout: options.requestTimeoutMs ?? 30_000,
      retry,
      socketFactory: (args) => this.#open(args),
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

  #open({ host, port, ssl, onConnect }: ISocketFactoryArgs): Socket {
    if (this.#closed) throw new Error(CLIENT_CLOSED);
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = ssl
      ? connectTls({ host, port, ...name, ...(typeof ssl === 'object' ? ssl : {}) }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }
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
  if (cluster === undefined) throw new Error('kafkajs gave no cluster to the assigner: is this version 2.2.4?');
  return cluster;
}
