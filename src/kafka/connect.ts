/** Kafka clients. Each use has a kafkajs instance of its own, whose sockets can all be closed at once. */

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

/** Requests that a broker holds until other group members have acted. Their duration is not silence. */
const HELD_BACK = /^(JoinGroup|SyncGroup)$/;
/** Time without a request after which a broker is no longer tracked, because it may be gone permanently. */
const FORGOTTEN_MS = 60_000;

interface BrokerState {
  /** Start of the silence (monotonic clock, ms). undefined if the broker has responded since. */
  unansweredMs: number | undefined;
  lastSentMs: number;
  inFlight: number;
}

/**
 * Silence of brokers, which begins with the first request or connection attempt after a broker's
 * last response. It shows a frozen broker early. Such a broker neither closes nor refuses
 * connections, so a failed request would show it only after the timeout.
 */
export class BrokerSilence {
  readonly #now: () => number;
  readonly #brokers = new Map<string, BrokerState>();

  /** @param now monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Registers a request or a connection attempt.
   * @returns a function to call when it has ended, with true if the broker has responded
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

  /** Shortest silence of all brokers in ms. */
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

// kafkajs's log, written through the project's logger at the levels that operators need.

/**
 * Log lines that are normal while brokers start, groups form or a client closes, and rejections
 * that this adapter reports itself with the remedy. `Response …` lines repeat the error of their
 * request.
 */
const BENIGN =
  /\bResponse \w+\(key|this Kafka client is closed|closed before it was open|with an old epoch|coordinator is loading|coordinator is not available|load(ing)? in progress|not aware of this member|rebalanc|needs to have a valid member id|concurrent operation on the same transaction|not the (correct )?coordinator|leadership election/i;

/** Maximum number of different lines that a client logs in five minutes: a few per broker of a large cluster. */
const MOST_LINES = 200;

/** Fields that never contain content or secrets (I6). All others are dropped. */
const FIELDS = ['broker', 'groupId', 'memberId', 'topic', 'partition', 'error'] as const;

/**
 * Returns the `logCreator` for kafkajs. Errors become warnings, because the adapter itself reports
 * those that persist. Repeated lines become debug lines, because every producer logs an absent
 * broker at each retry.
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
  /** `host:port` of some brokers, from which the client finds the others. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  /** Rack of this client. Partitions are read from replicas in this rack, if the brokers support it. Default: none. */
  readonly rack?: string | undefined;
  /** Absent for plain connections without a login. */
  readonly security?: Security;
  /** Operations on each topic (READ, WRITE, or both), for messages about missing rights. */
  readonly uses?: ReadonlyMap<string, string>;
  /** Operation on the group, for messages about missing rights. Default: READ. */
  readonly groupUse?: string;
  /** Observer of requests and responses. */
  readonly silence?: BrokerSilence;
  /** Maximum time to connect. Default 5,000 ms. */
  readonly connectionTimeoutMs?: number;
  /** Maximum wait for a response. Default 30,000 ms. */
  readonly requestTimeoutMs?: number;
}

/** Duration from which throttling by a quota is logged, ms. */
const NOTABLE_THROTTLE_MS = 1_000;
const KEEP_ALIVE_MS = 60_000;
const TLS_ALERT = 0x15;
const TLS_MAJOR = 3;

/** A kafkajs instance. Each use needs its own, because its clients share a cache of committed offsets. */
export class Client {
  readonly kafka: KafkaClient;
  readonly #security: Security | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #seldom = new LogSeldom(MOST_LINES);
  #closed = false;

  constructor(options: ConnectOptions, logger: Logger, retry: RetryOptions) {
    const { security } = options;
    this.#security = security;
    const socketFactory = Object.assign((args: ISocketFactoryArgs) => this.#open(args), {
      prepare: async () => security?.prepare(),
      silence: options.silence,
      throttled: (broker: string, request: string, ms: number) => {
        if (ms < NOTABLE_THROTTLE_MS || !this.#seldom.allows(broker, performance.now())) return;
        const about = { broker, clientId: options.clientId, request, throttledMs: Math.round(ms) };
        logger.warn(about, 'the broker throttles this client: it exceeds a client quota');
      },
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
    // kafkajs's types allow no mechanism without the options of its built-in provider.
    this.kafka = new Kafka(config as object as KafkaConfig);
  }

  /**
   * Closes the client. First gives `disconnect` up to `graceMs`, then closes all sockets and allows
   * no new ones. Idempotent, never throws.
   */
  async close(disconnect: () => Promise<unknown>, graceMs: number): Promise<void> {
    if (this.#closed) return;
    await settledWithin(disconnect(), graceMs);
    this.#closed = true;
    for (const socket of this.#sockets) {
      // kafkajs rejects its requests in flight only if the socket ends with an error.
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
 * Recognises a TLS alert, which some brokers send in response to plain text before they close the
 * connection. kafkajs would read the alert as the length of a very long response.
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
 * Returns the cluster connection inside a kafkajs consumer, which kafkajs passes to assigners. It
 * can send requests that need no group. The consumer never runs, so its group never exists.
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
