/**
 * Patches 11 to 13, 15, 17, 18 and 22 of docs/internals/kafkajs.md, for connections and for
 * requests to any broker. Also reports requests, responses and throttling to the observers of the
 * socket factory.
 */
import type { Socket } from 'node:net';
import { internal } from './internals.ts';

interface KafkaJsConnection {
  readonly host: string;
  readonly port: number;
  readonly socket?: Socket;
  readonly sasl?: object;
  readonly requestQueue: {
    readonly pending: readonly unknown[];
    readonly inflight: ReadonlyMap<number, unknown>;
    /** `performance.now()` until which no request is sent (KIP-219). */
    readonly throttledUntil: number;
    rejectAll(error: Error): void;
  };
  /** `prepare` is awaited before each connection, because a socket factory is synchronous. */
  readonly socketFactory: {
    readonly prepare?: () => Promise<unknown>;
    readonly silence?: {
      sent(broker: string, what: string): (answered: boolean) => void;
    };
    readonly throttled?: (broker: string, request: string, throttledMs: number) => void;
  };
  /** Value of process.hrtime at the last login. null before the first. */
  readonly authenticatedAt: [number, number] | null;
  /** Lifetime of a session in ms. 0 if the broker sets no limit. */
  readonly sessionLifetime: { toString(): string };
  /** Received parts of a response, their size, and the size from which kafkajs parses them. */
  chunks: readonly Buffer[];
  bytesBuffered: number;
  bytesNeeded: number;
  processData(data: Buffer): void;
  isAuthenticated(): boolean;
  isConnected(): boolean;
  authenticate(): Promise<void>;
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  send(request: { readonly request: { readonly apiName: string } }): Promise<unknown>;
}
interface AnyBrokerPool {
  /** Resolves with null if no broker responded. */
  withBroker(send: (broker: object) => Promise<unknown>): Promise<unknown>;
}

/** Message of a socket that was closed before it opened. */
const GIVEN_UP = 'closed before it was open';
/** Socket events whose handlers in kafkajs change the connection, even if the connection has a new socket by then. */
const HANDLED = ['data', 'end', 'error', 'timeout'];
/** Share of a session's lifetime after which a connection logs in again. Java's clients use 85 to 95 %. */
const LOG_IN_AGAIN_AT = 0.85;
/** Requests that brokers answer before a login. */
const WITHOUT_LOGIN = new Set(['ApiVersions', 'SaslHandshake', 'SaslAuthenticate']);
const SIZE_BYTES = 4;
/** Maximum size of a response: twice the largest `kafka.fetchMaxBytes`, but less than `HTTP` interpreted as a size. */
const MAX_ANSWER_BYTES = 1_073_741_824;

/** Returns true for an error that a broker sent. */
const isAnswer = (error: unknown): boolean =>
  typeof (error as { type?: unknown }).type === 'string' ||
  (error as Error).name === 'KafkaJSSASLAuthenticationError';

export function patchConnections(): void {
  const { prototype } = internal<{ prototype: KafkaJsConnection }>('network/connection.js');
  const { KafkaJSConnectionClosedError } = internal<{
    KafkaJSConnectionClosedError: new (message: string, at: object) => Error;
  }>('errors.js');
  const { authenticate, connect, disconnect, processData, send } = prototype;

  // 11: closes the connection when a request times out, so that its retry connects again.
  prototype.send = async function (request) {
    // 18: kafkajs would log in without `authenticate`.
    if (this.sasl && !this.isAuthenticated() && !WITHOUT_LOGIN.has(request.request.apiName))
      await this.authenticate();
    const { socket, host, port } = this;
    const { apiName } = request.request;
    const over = this.socketFactory.silence?.sent(`${host}:${port}`, apiName);
    try {
      const answer = await send.call(this, request);
      over?.(true);
      const throttledMs = this.requestQueue.throttledUntil - performance.now();
      if (throttledMs > 0) this.socketFactory.throttled?.(`${host}:${port}`, apiName, throttledMs);
      return answer;
    } catch (error) {
      over?.(isAnswer(error));
      if ((error as Error).name === 'KafkaJSRequestTimeoutError') socket?.destroy(error as Error);
      throw error;
    }
  };

  // 12: rejects requests that were added while the connection was closing.
  prototype.disconnect = async function () {
    const { requestQueue, host, port, socket } = this;
    // `end` would wait until the socket opens, and each `unref` of a socket that is not open adds a listener.
    if (socket?.connecting) socket.destroy(new Error(GIVEN_UP));
    if (socket?.destroyed) socket.unref = () => socket;
    const closed = await disconnect.call(this);
    if (requestQueue.inflight.size > 0 || requestQueue.pending.length > 0)
      requestQueue.rejectAll(new KafkaJSConnectionClosedError('Closed connection', { host, port }));
    return closed;
  };

  // 13: allows one socket at a time, and removes the handlers of earlier ones.
  const connecting = new WeakMap<KafkaJsConnection, Promise<unknown>>();
  prototype.connect = function () {
    const underWay = connecting.get(this);
    if (underWay !== undefined) return underWay;
    if (!this.isConnected() && this.socket !== undefined) {
      for (const event of HANDLED) this.socket.removeAllListeners(event);
      this.socket.on('error', () => undefined);
      this.socket.destroy();
    }
    // 22: drops the part of a response that an earlier socket received.
    if (!this.isConnected())
      Object.assign(this, { chunks: [], bytesBuffered: 0, bytesNeeded: SIZE_BYTES });
    const { silence, prepare } = this.socketFactory;
    const prepared = prepare?.() ?? Promise.resolve();
    const over = silence?.sent(`${this.host}:${this.port}`, 'connect');
    const attempt = prepared
      .then(() => connect.call(this))
      .finally(() => {
        connecting.delete(this);
        // The kernel accepts connections for a frozen broker, so a connection does not count as a response.
        over?.(false);
      });
    connecting.set(this, attempt);
    return attempt;
  };

  // 22: an unreadable response ends its connection instead of the process.
  prototype.processData = function (data) {
    const fail = (why: string) => this.socket?.destroy(new Error(`unreadable response: ${why}`));
    try {
      processData.call(this, data);
      if (this.bytesNeeded > MAX_ANSWER_BYTES)
        fail(`${this.bytesNeeded} bytes, more than ${MAX_ANSWER_BYTES}`);
    } catch (error) {
      fail((error as Error).message);
    }
  };

  // 15: logs in again after a share of the session's lifetime, however short it is.
  prototype.isAuthenticated = function () {
    if (this.authenticatedAt == null) return false;
    const sessionMs = Number(this.sessionLifetime.toString());
    const [seconds, nanos] = process.hrtime(this.authenticatedAt);
    return sessionMs === 0 || seconds * 1_000 + nanos / 1_000_000 < sessionMs * LOG_IN_AGAIN_AT;
  };

  // 18: closes the connection after a failed login, because the broker waits for the rest of the
  // login. A session that cannot be renewed is replaced by one on a new connection, because brokers
  // reject a renewal with a different principal.
  const logIn = async (connection: KafkaJsConnection): Promise<void> => {
    const isRenewal = connection.authenticatedAt !== null;
    try {
      await authenticate.call(connection);
    } catch (error) {
      await connection.disconnect();
      if (!isRenewal) throw error;
      await connection.connect();
      await logIn(connection);
    }
  };
  const loggingIn = new WeakMap<KafkaJsConnection, Promise<void>>();
  prototype.authenticate = function () {
    const underWay = loggingIn.get(this);
    if (underWay !== undefined) return underWay;
    const login = logIn(this).finally(() => loggingIn.delete(this));
    loggingIn.set(this, login);
    return login;
  };

  // 17: if no broker serves a request, throws the rejection that one of them sent.
  const pool = internal<{ prototype: AnyBrokerPool }>('cluster/brokerPool.js').prototype;
  const { withBroker } = pool;
  pool.withBroker = async function (send) {
    let refusal: unknown;
    const answer = await withBroker.call(this, async (broker) => {
      try {
        return await send(broker);
      } catch (error) {
        if (/_AUTHORIZATION_FAILED$/.test(String((error as { type?: unknown }).type)))
          refusal = error;
        throw error;
      }
    });
    if (answer === null && refusal !== undefined) throw refusal;
    return answer;
  };
}
