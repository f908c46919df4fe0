/** Each test fails without its patch in src/kafka/kafkajs/connection-patches.ts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import '../../../../src/kafka/kafkajs/patches.ts';

interface Connection {
  readonly requestQueue: {
    waitForPendingRequests(): Promise<void>;
    throttledUntil: number;
    readonly inflight: ReadonlyMap<number, unknown>;
    readonly pending: readonly unknown[];
  };
  connect(): Promise<unknown>;
  isConnected(): boolean;
  disconnect(): Promise<unknown>;
  send(request: object): Promise<unknown>;
}

// The copy of kafkajs that the fixes have loaded.
const load = createRequire(import.meta.url);
const ConnectionClass = load('kafkajs/src/network/connection.js') as new (
  options: object,
) => Connection;
const EncoderClass = load('kafkajs/src/protocol/encoder.js') as new () => object;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => quiet };

interface SilentServer {
  readonly connection: Connection;
  /** Sends a request with this timeout, ms. */
  readonly request: (timeoutMs: number) => Promise<unknown>;
  /** The other ends of all sockets that were opened. */
  readonly ends: readonly Socket[];
  /** Our ends. */
  readonly sockets: readonly Socket[];
}

/** A connection to a server that takes everything and says nothing. */
async function withSilentServer(run: (server: SilentServer) => Promise<void>): Promise<void> {
  const ends: Socket[] = [];
  const sockets: Socket[] = [];
  const silent = createServer({ allowHalfOpen: true }, (socket) =>
    ends.push(socket.on('error', () => undefined)),
  );
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const connection = new ConnectionClass({
    host: '127.0.0.1',
    port,
    logger: quiet,
    requestTimeout: 50,
    connectionTimeout: 5_000,
    socketFactory: ({ onConnect }: { onConnect: () => void }) => {
      const socket = connect({ port, host: '127.0.0.1' }, onConnect);
      sockets.push(socket);
      return socket;
    },
  });
  const asked = {
    apiKey: 18,
    apiName: 'ApiVersions',
    apiVersion: 0,
    encode: async () => new EncoderClass(),
  };
  const request = (requestTimeout: number) =>
    connection.send({ request: asked, response: {}, requestTimeout });
  try {
    await run({ connection, request, ends, sockets });
  } finally {
    await connection.disconnect();
    for (const socket of [...ends, ...sockets]) socket.destroy();
    silent.close();
    await once(silent, 'close');
  }
}

describe('a connection of kafkajs', { timeout: 30_000 }, () => {
  it('11: on which a request got no answer is left, also by the other requests, and the next one is new', async () => {
    await withSilentServer(async ({ connection, request }) => {
      await connection.connect();
      const long = request(600_000);
      await Promise.all([
        assert.rejects(request(50), { name: 'KafkaJSRequestTimeoutError' }),
        assert.rejects(long, { name: 'KafkaJSConnectionError' }),
      ]);
      assert.equal(connection.isConnected(), false);
      await connection.connect();
      assert.equal(connection.isConnected(), true);
    });
  });

  for (const throttledMs of [0, 60_000]) {
    it(`12: gives up what came while it was closing${throttledMs > 0 ? ', held back by a quota' : ''}`, async () => {
      await withSilentServer(async ({ connection, request }) => {
        await connection.connect();
        const { requestQueue } = connection;
        requestQueue.throttledUntil = performance.now() + throttledMs;
        let asked: Promise<void> | undefined;
        const { waitForPendingRequests } = requestQueue;
        requestQueue.waitForPendingRequests = async () => {
          requestQueue.waitForPendingRequests = waitForPendingRequests;
          // It saw no request, and then one comes.
          asked = assert.rejects(request(600_000), {
            name: 'KafkaJSConnectionClosedError',
            retriable: true,
          });
          while (requestQueue.inflight.size + requestQueue.pending.length === 0) await turn();
        };
        await connection.disconnect();
        await asked;
      });
    });
  }

  it('13: opens one socket for requests that come together', async () => {
    await withSilentServer(async ({ connection, sockets }) => {
      await Promise.all([connection.connect(), connection.connect(), connection.connect()]);
      assert.equal(sockets.length, 1);
    });
  });

  it('13: does not hear a socket that it gave up before', async () => {
    await withSilentServer(async ({ connection, request, ends, sockets }) => {
      await connection.connect();
      await connection.disconnect();
      await connection.connect();
      const asked = assert.rejects(request(1_000), { name: 'KafkaJSRequestTimeoutError' });
      for (const end of ends.slice(0, 1)) end.end();
      sockets[0]?.emit('end');
      await asked;
    });
  });
});
