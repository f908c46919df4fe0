/** Mends 11 to 15, 17 and 18 of kafkajs-fixes.ts: its connections (src/network/connection.js), and what it knows of the cluster. */
import { type BrokerPool, type Connection, internal, type Metadata } from './internals.ts';

/** What a socket that was closed before it was open ends with. */
const GIVEN_UP = 'given up before it was open';

/** What must be done before a socket factory is called: it cannot wait. */
const preparations = new WeakMap<object, () => Promise<unknown>>();

/** The same socket factory, with something to wait for before each connection. What `prepare` throws fails the connection. */
export function preparedBy<F extends object>(socketFactory: F, prepare: () => Promise<unknown>): F {
  preparations.set(socketFactory, prepare);
  return socketFactory;
}

/** What kafkajs listens for on a socket; whose handlers act on the connection as it is by then. */
const HANDLED = ['data', 'end', 'error', 'timeout'];

export function patchConnections(): void {
  const { prototype } = internal<{ prototype: Connection }>('network/connection.js');
  connectOnce(prototype);
  leaveSilentConnections(prototype);
  giveUpWhatIsClosed(prototype);
  logInAgainInTime(prototype);
  leaveFailedLogins(prototype);
  keepKnownTopics();
  tellRefusals();
}

/**
 * Mend 11: a connection on which a request got no answer in time went on being used. When its other end has vanished without a
 * word, every retry waits for its timeout on the same dead connection, until the operating system gives it up: a quarter of an
 * hour, or never behind a load balancer. Now it is closed, and the retry connects anew.
 */
function leaveSilentConnections(prototype: Connection): void {
  const { send } = prototype;
  prototype.send = async function (this: Connection, request): Promise<unknown> {
    const { socket } = this;
    try {
      return await send.call(this, request);
    } catch (error) {
      if ((error as Error).name === 'KafkaJSRequestTimeoutError') socket?.destroy(error as Error);
      throw error;
    }
  };
}

/**
 * Mend 12: a connection that is closing still takes requests (src/network/connectionStatus.js counts it as connected). One that
 * came in the moment between the last answer and the close lost its clock with the connection, was never answered, and hung for
 * ever, and with it a join; so did one that a quota held back. Now they are given up, and the retry connects anew. Also every
 * close of a socket that never opened, or is gone, added a listener to it: Node warned of a leak after ten.
 */
function giveUpWhatIsClosed(prototype: Connection): void {
  const { KafkaJSConnectionClosedError } = internal<{
    KafkaJSConnectionClosedError: new (message: string, at: object) => Error;
  }>('errors.js');
  const { disconnect } = prototype;
  prototype.disconnect = async function (this: Connection): Promise<unknown> {
    const { requestQueue, host, port, socket } = this;
    // `end` waits for a socket to open, and `unref` of one that is not open adds a listener for that, each time.
    if (socket?.connecting) socket.destroy(new Error(GIVEN_UP));
    if (socket?.destroyed) socket.unref = () => socket;
    const closed = await disconnect.call(this);
    if (requestQueue.inflight.size > 0 || requestQueue.pending.length > 0)
      requestQueue.rejectAll(new KafkaJSConnectionClosedError('Closed connection', { host, port }));
    return closed;
  };
}

/**
 * Mend 13: requests that came together at a connection that was not open each opened a socket, and the last one stayed: the
 * others were left to the broker to close, and when one ended, or the socket of an earlier connection did, its handlers closed
 * the connection that was in use. Now there is one socket at a time, and one that was given up is heard no more.
 */
function connectOnce(prototype: Connection): void {
  const { connect } = prototype;
  const connecting = new WeakMap<Connection, Promise<unknown>>();
  prototype.connect = function (this: Connection): Promise<unknown> {
    const underWay = connecting.get(this);
    if (underWay !== undefined) return underWay;
    if (!this.isConnected() && this.socket !== undefined) {
      for (const event of HANDLED) this.socket.removeAllListeners(event);
      this.socket.on('error', () => undefined);
      this.socket.destroy();
    }
    const prepared = preparations.get(this.socketFactory)?.() ?? Promise.resolve();
    const attempt = prepared.then(() => connect.call(this)).finally(() => connecting.delete(this));
    connecting.set(this, attempt);
    return attempt;
  };
}

/**
 * Mend 14: asking about a topic for the first time made a client forget all others (src/cluster/brokerPool.js refreshMetadata).
 * A question about one of those that was half-way then found it without partitions, and failed. What was known of a topic stays
 * until there is something newer.
 */
function keepKnownTopics(): void {
  const { prototype } = internal<{ prototype: object }>('cluster/brokerPool.js');
  const known = new WeakMap<object, Metadata | null>();
  Object.defineProperty(prototype, 'metadata', {
    get(this: object): Metadata | null {
      return known.get(this) ?? null;
    },
    set(this: object, newer: Metadata | null) {
      const older = known.get(this)?.topicMetadata ?? [];
      const named = new Set(newer?.topicMetadata.map(({ topic }) => topic));
      const kept = older.filter(({ topic }) => !named.has(topic));
      known.set(this, newer && { ...newer, topicMetadata: [...newer.topicMetadata, ...kept] });
    },
  });
}

/**
 * Mend 17: a question that any broker may answer went to each of them, and what they said was lost (src/cluster/brokerPool.js
 * withBroker): a missing right on a group came as "Failed to find group coordinator". A refusal is told now.
 */
function tellRefusals(): void {
  const { prototype } = internal<{ prototype: BrokerPool }>('cluster/brokerPool.js');
  const { withBroker } = prototype;
  prototype.withBroker = async function (this: BrokerPool, ask): Promise<unknown> {
    let refusal: unknown;
    const answer = await withBroker.call(this, async (broker) => {
      try {
        return await ask(broker);
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

/** Share of a session after which a connection logs in again; Java's clients take 85 to 95 %. */
const LOG_IN_AGAIN_AT = 0.85;

/**
 * Mend 15: a connection logged in again (KIP-368, connections.max.reauth.ms) ten seconds before its session ended, and so before
 * each request when a session is not longer; a broker that is asked twice within a second closes the connection. Now it is at
 * 85 % of the session, however long that is.
 */
function logInAgainInTime(prototype: Connection): void {
  prototype.isAuthenticated = function (this: Connection): boolean {
    if (this.authenticatedAt == null) return false;
    const sessionMs = Number(this.sessionLifetime.toString());
    if (sessionMs === 0) return true;
    const [seconds, nanos] = process.hrtime(this.authenticatedAt);
    return seconds * 1_000 + nanos / 1_000_000 < sessionMs * LOG_IN_AGAIN_AT;
  };
}

/**
 * Mend 18: after a login that failed on this side, such as for want of a token, the next try went on with the same connection. The
 * broker waits for the rest of the first login there, and refuses: ILLEGAL_SASL_STATE, which is not tried again, and reads as if
 * the port wanted no login. Now the connection is closed, and the next try has a new one.
 */
function leaveFailedLogins(prototype: Connection): void {
  const { authenticate } = prototype;
  prototype.authenticate = async function (this: Connection): Promise<void> {
    try {
      await authenticate.call(this);
    } catch (error) {
      await this.disconnect();
      throw error;
    }
  };
}
