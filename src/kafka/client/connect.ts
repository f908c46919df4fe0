/** Kafka clients: one kafkajs instance for each use, with sockets that can all be ended at once. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactoryArgs, Kafka as KafkaClient, KafkaConfig, RetryOptions } from 'kafkajs';
import { settledWithin } from '../../../packages/client/src/base/abortable.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { CLIENT_CLOSED } from '../errors.ts';
import { Kafka, logLevel } from '../kafkajs/patches.ts';
import type { KafkaCluster } from '../kafkajs/shapes.ts';
import type { Security } from '../security/security.ts';
import { SecurityError } from '../security/security-error.ts';
import type { BrokerSilence } from './broker-silence.ts';
import { clientLog } from './client-log.ts';

export interface ConnectOptions {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Absent: plain connections without a login. */
  readonly security?: Security;
  /** Operations on topics (READ, WRITE, READ and WRITE), for messages about missing rights. */
  readonly uses?: ReadonlyMap<string, string>;
  /** The same for groups; READ by default. */
  readonly groupUse?: string;
  /** Told of requests and answers. */
  readonly silence?: BrokerSilence;
  /** Default 5,000 ms. */
  readonly connectionTimeoutMs?: number;
  /** Longest wait for an answer. Default 30,000 ms. */
  readonly requestTimeoutMs?: number;
}

const KEEP_ALIVE_MS = 60_000;
const TLS_ALERT = 0x15;
const TLS_MAJOR = 3;

/**
 * One kafkajs instance. Uses must not share one: they would share a cache of committed offsets.
 */
export class Client {
  readonly kafka: KafkaClient;
  readonly #security: Security | undefined;
  readonly #sockets = new Set<Socket>();
  #closed = false;

  constructor(options: ConnectOptions, logger: Logger, retry: RetryOptions) {
    const { security } = options;
    this.#security = security;
    const socketFactory = Object.assign((args: ISocketFactoryArgs) => this.#open(args), {
      prepare: async () => security?.prepare(),
      silence: options.silence,
    });
    const config = {
      brokers: [...options.brokers],
      clientId: options.clientId,
      ssl: security?.encrypted === true,
      sasl: security?.sasl,
      connectionTimeout: options.connectionTimeoutMs ?? 5_000,
      requestTimeout: options.requestTimeoutMs ?? 30_000,
      retry,
      socketFactory,
      logLevel: logLevel.WARN,
      logCreator: clientLog(logger),
    };
    // kafkajs's types know no mechanism without its built-in provider's options.
    this.kafka = new Kafka(config as object as KafkaConfig);
  }

  /**
   * Ends the client: `disconnect` gets `graceMs`, then its sockets are cut and no new one can be
   * opened. Repeatable, never throws.
   */
  async close(disconnect: () => Promise<unknown>, graceMs: number): Promise<void> {
    if (this.#closed) return;
    await settledWithin(disconnect(), graceMs);
    this.#closed = true;
    for (const socket of this.#sockets) {
      // kafkajs rejects the requests in flight only for a socket that ends with an error.
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
 * Some brokers answer a request in plain text with a TLS alert before they close; kafkajs would
 * take it for the length of a very long answer.
 */
function noticeTls(socket: Socket): Socket {
  return socket.once('data', (first: Buffer) => {
    if (first[0] === TLS_ALERT && first[1] === TLS_MAJOR)
      socket.destroy(
        new SecurityError(
          'this port requires TLS: set kafka.tls.enabled to true, or use another port of the broker',
        ),
      );
  });
}

/**
 * Returns the cluster connection inside a kafkajs consumer, for requests that need no group:
 * kafkajs hands it to assigners. The consumer is never run, so that its group never exists.
 */
export function clusterOf(client: Client, metadataMaxAgeMs: number): KafkaCluster {
  let cluster: unknown;
  const assigner = { name: 'none', version: 0, assign: async () => [] };
  const protocol = () => ({ name: 'none', metadata: Buffer.alloc(0) });
  client.kafka.consumer({
    groupId: 'never-joined',
    allowAutoTopicCreation: false,
    metadataMaxAge: metadataMaxAgeMs,
    partitionAssigners: [
      (given) => {
        ({ cluster } = given);
        return { ...assigner, protocol };
      },
    ],
  });
  return cluster as KafkaCluster;
}
