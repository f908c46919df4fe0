/**
 * Patches 11 to 13, 15, 17, 18 and 22 of docs/internals/kafkajs.md: connections, and requests to any broker. Also
 * reports requests and answers to the socket factory's observer.
 */
import type { Socket } from 'node:net';
import { internal } from './internals.ts';

interface KafkaJsConnection {
  readonly host: string;
  readonly port: number;
  readonly socket?: Socket;
  readonly requestQueue: {
    readonly pending: readonly unknown[];
    readonly inflight: ReadonlyMap<number, unknown>;
    rejectAll(error: Error): void;
  };
  /** `prepare` is awaited before each call: a factory cannot wait. */
  readonly socketFactory: {
    readonly prepare?: () => Promise<unknown>;
    readonly silence?: {
      sent(broker: string, what: string): (answered: boolean) => void;
    };
  };
  /** process.hrtime of the last login; null before it. */
  readonly authenticatedAt: [number, number] | null;
  /** Milliseconds; 0 when the broker sets no end. */
  readonly sessionLifetime: { toString(): string };
  /** Part of an answer that has arrived, its bytes, and the bytes from which on kafkajs reads it. */
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
  /** Resolves with null when no broker answered. */
  withBroker(send: (broker: object) => Promise<unknown>): Promise<unknown>;
}

/** Message of a socket that was closed before it was open. */
const GIVEN_UP = 'given up before it was open';
/** Events whose handlers in kafkajs act on the connection, whichever socket it has by then. */
const HANDLED = ['data', 'end', 'error', 'timeout'];
/** Share of a session after which a connection logs in again; Java's clients take 85 to 95 %. */
const LOG_IN_AGAIN_AT = 0.85;
const SIZE_BYTES = 4;
/** Largest answer: twice the largest `kafka.fetchMaxBytes`, and less than the first letters of HTTP amount to. */
const MAX_ANSWER_BYTES = 1_073_741_824;

/** True for an error that a broker has answered with. */
const isAnswer = (error: unknown): boolean =>
  typeof (error as { type?: unknown }).type === 'string' ||
  (error as Error).name === 'KafkaJSSASLAuthenticationError';

export function patchConnections(): void {
  const { prototype } = internal<{ prototype: KafkaJsConnection }>('network/connection.js');
  const { KafkaJSConnectionClosedError } = internal<{
    KafkaJSConnectionClosedError: new (message: string, at: object) => Error;
  }>('errors.js');
  const { authenticate, connect, disconnect, processData, send } = prototype;

  // 11: closed once a request got no answer in time, so that its retry connects again.
  prototype.send = async function (request) {
    const { socket, host, port } = this;
    const over = this.socketFactory.silence?.sent(`${host}:${port}`, request.request.apiName);
    try {
      const answer = await send.call(this, request);
      over?.(true);
      return answer;
    } catch (error) {
      over?.(isAnswer(error));
      if ((error as Error).name === 'KafkaJSRequestTimeoutError') socket?.destroy(error as Error);
      throw error;
    }
  };

  // 12: requests that came while it was closing are given up.
  prototype.disconnect = async function () {
    const { requestQueue, host, port, socket } = this;
    // `end` waits for a socket to open, and `unref` of one that is not open adds a listener each time.
    if (socket?.connecting) socket.destroy(new Error(GIVEN_UP));
    if (socket?.destroyed) socket.unref = () => socket;
    const closed = await disconnect.call(this);
    if (requestQueue.inflight.size > 0 || requestQueue.pending.length > 0)
      requestQueue.rejectAll(new KafkaJSConnectionClosedError('Closed connection', { host, port }));
    return closed;
  };

  // 13: one socket at a time, and handlers of an earlier one are removed.
  const connecting = new WeakMap<KafkaJsConnection, Promise<unknown>>();
  prototype.connect = function () {
    const underWay = connecting.get(this);
    if (underWay !== undefined) return underWay;
    if (!this.isConnected() && this.socket !== undefined) {
      for (const event of HANDLED) this.socket.removeAllListeners(event);
      this.socket.on('error', () => undefined);
      this.socket.destroy();
    }
    // 22: what an earlier socket has left of an answer is no part of the next one.
    if (!this.isConnected())
      Object.assign(this, { chunks: [], bytesBuffered: 0, bytesNeeded: SIZE_BYTES });
    const { silence, prepare } = this.socketFactory;
    const prepared = prepare?.() ?? Promise.resolve();
    const over = silence?.sent(`${this.host}:${this.port}`, 'connect');
    const attempt = prepared
      .then(() => connect.call(this))
      .finally(() => {
        connecting.delete(this);
        // The kernel accepts for a frozen broker: only answers count.
        over?.(false);
      });
    connecting.set(this, attempt);
    return attempt;
  };

  // 22: an answer that cannot be read ends its connection instead of the process.
  prototype.processData = function (data) {
    const fail = (why: string) => this.socket?.destroy(new Error(`unreadable answer: ${why}`));
    try {
      processData.call(this, data);
      if (this.bytesNeeded > MAX_ANSWER_BYTES)
        fail(`${this.bytesNeeded} bytes of at most ${MAX_ANSWER_BYTES}`);
    } catch (error) {
      fail((error as Error).message);
    }
  };

  // 15: logs in again at a share of the session, however long that is.
  prototype.isAuthenticated = function () {
    if (this.authenticatedAt == null) return false;
    const sessionMs = Number(this.sessionLifetime.toString());
    const [seconds, nanos] = process.hrtime(this.authenticatedAt);
    return sessionMs === 0 || seconds * 1_000 + nanos / 1_000_000 < sessionMs * LOG_IN_AGAIN_AT;
  };

  // 18: closed after a failed login, of which the broker waits for the rest.
  prototype.authenticate = async function () {
    try {
      await authenticate.call(this);
    } catch (error) {
      await this.disconnect();
      throw error;
    }
  };

  // 17: a refusal by a broker is thrown, when no other broker answers either.
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
