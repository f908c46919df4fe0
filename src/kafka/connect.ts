/** Kafka clients: one kafkajs instance for each use, with sockets that can all be ended at once. */

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type {
  ISocketFactoryArgs,
  Kafka as KafkaClient,
  KafkaConfig,
  LogEntry,
  RetryOptions,
} from 'kafkajs';
import { settledWithin } from '../../packages/client/src/base/abortable.ts';
import { LogSeldom } from '../../packages/client/src/base/log-limits.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { CLIENT_CLOSED } from './errors.ts';
import { Kafka, logLevel } from './kafkajs/patches.ts';
import type { KafkaCluster } from './kafkajs/shapes.ts';
import type { Security } from './security/security.ts';
import { SecurityError } from './security/security-error.ts';

/** Requests that brokers answer only once other members of the group have done their part. */
const HELD_BACK = /^(JoinGroup|SyncGroup)$/;
/** A broker that nothing was sent to for this long is forgotten: it may be gone permanently. */
const FORGOTTEN_MS = 60_000;

interface BrokerState {
  /** Monotonic clock, ms; undefined: it has answered since the last request. */
  unansweredMs: number | undefined;
  lastSentMs: number;
  inFlight: number;
}

/**
 * Silence of brokers: the time since the first request, or attempt to connect, that a broker has
 * not answered since. A frozen broker closes no connection and refuses none, so a failed request
 * would show it only after its timeout.
 */
export class BrokerSilence {
  readonly #now: () => number;
  readonly #brokers = new Map<string, BrokerState>();

  /** @param now monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Notes a request, or an attempt to connect.
   * @returns to be called at its end, with whether the broker has answered
   */
  sent(broker: string, what: string): (answered: boolean) => void {
    const nowMs = this.#now();
    const state = this.#brokers.get(broker) ?? {
      unansweredMs: undefined,
      lastSentMs: nowMs,
      inFlight: 0,
    };
    this.#brokers.set(broker, state);
    state.lastSentMs = nowMs;
    state.inFlight++;
    if (!HELD_BACK.test(what)) state.unansweredMs ??= nowMs;
    return (answered) => {
      state.inFlight--;
      if (answered) state.unansweredMs = undefined;
    };
  }

  /** Least silence of a broker, ms. */
  get silentMs(): number {
    const nowMs = this.#now();
    for (const [broker, { inFlight, lastSentMs }] of this.#brokers)
      if (inFlight === 0 && nowMs - lastSentMs > FORGOTTEN_MS) this.#brokers.delete(broker);
    const silent = [...this.#brokers.values()].map(
      ({ unansweredMs = nowMs }) => nowMs - unansweredMs,
    );
    return silent.length === 0 ? 0 : Math.min(...silent);
  }
}

// Log of kafkajs, through the project's logger: what an operator can use, at a fitting level.

/**
 * Lines that are normal while brokers start, groups form or a client is closed, and refusals that
 * the adapter reports itself, with the remedy. `Response …` lines repeat the error of their request.
 */
const BENIGN =
  /\bResponse \w+\(key|this Kafka client is closed|given up before it was open|with an old epoch|coordinator is loading|coordinator is not available|load(ing)? in progress|not aware of this member|rebalanc|needs to have a valid member id|concurrent operation on the same transaction|not the (correct )?coordinator|leadership election/i;

/** Different lines of a client in five minutes: a few for each broker of a large cluster. */
const MOST_LINES = 200;

/** Names of fields that never hold content or secrets (I6); everything else is dropped. */
const FIELDS = ['broker', 'groupId', 'memberId', 'topic', 'partition', 'error'] as const;

/**
 * Returns the `logCreator` for kafkajs. Errors become warnings: the adapter reports those that
 * remain. Repeated lines are debug lines: every producer logs an absent broker, at every retry.
 */
export function clientLog(
  logger: Logger,
  now: () => number = () => performance.now(),
): () => (entry: LogEntry) => void {
  const seldom = new LogSeldom(MOST_LINES);
  return () => (entry) => {
    const { message } = entry.log;
    const fields: Record<string, unknown> = { client: `kafkajs ${entry.namespace}` };
    for (const name of FIELDS) {
      const value: unknown = entry.log[name];
      if (value !== undefined) fields[name] = value instanceof Error ? value.message : value;
    }
    const line = `${entry.namespace} ${message} ${String(fields.error ?? '')}`;
    const isShown =
      entry.level <= logLevel.WARN && !BENIGN.test(line) && seldom.allows(line, now());
    logger[isShown ? 'warn' : 'debug'](fields, message);
  };
}

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
