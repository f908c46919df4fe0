/** Each test fails without its patch in src/kafka/kafkajs/connection-patches.ts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { BrokerSilence } from '../../../../src/kafka/connect.ts';
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

// Loads the same instance of kafkajs that the patches have changed.
const load = createRequire(import.meta.url);
const ConnectionClass = load('kafkajs/src/network/connection.js') as new (
  options: object,
) => Connection;
const EncoderClass = load('kafkajs/src/protocol/encoder.js') as new () => object;
const quiet = { debug() {}, info() {}, warn() {}, error() {}, namespace: () => quiet };

interface SilentServer {
  readonly connection: Connection;
  /** Sends a request with this timeout in milliseconds. */
  readonly request: (timeoutMs: number) => Promise<unknown>;
  /** Server-side sockets of all opened connections. */
  readonly ends: readonly Socket[];
  /** Client-side sockets. */
  readonly sockets: readonly Socket[];
}

/** Response decoder that returns the payload unchanged. */
const AS_IT_IS = {
  decode: async (payload: Buffer) => payload,
  parse: async (payload: Buffer) => payload,
};

/** Resolves when a connection has sent data. */
async function sent(ends: readonly Socket[], at: number): Promise<void> {
  while (ends[at] === undefined) await turn();
  await once(ends[at], 'data');
}

/** Runs a test with a connection to a server that reads everything and never responds. */
async function withSilentServer(
  run: (server: SilentServer) => Promise<void>,
  silence?: BrokerSilence,
): Promise<void> {
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
    socketFactory: Object.assign(
      ({ onConnect }: { onConnect: () => void }) => {
        const socket = connect({ port, host: '127.0.0.1' }, onConnect);
        sockets.push(socket);
        return socket;
      },
      { silence },
    ),
  });
  const asked = {
    apiKey: 18,
    apiName: 'ApiVersions',
    apiVersion: 0,
    encode: async () => new EncoderClass(),
  };
  const request = (requestTimeout: number) =>
    connection.send({ request: asked, response: AS_IT_IS, requestTimeout });
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
  it('11: is closed for all its requests after a request without a response, and can be opened again', async () => {
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

  it('counts as silent until a response: neither opening a socket nor a timeout is a response', async () => {
    let nowMs = 0;
    const silence = new BrokerSilence(() => nowMs);
    await withSilentServer(async ({ connection, request }) => {
      await connection.connect();
      nowMs = 2_000;
      await assert.rejects(request(50), { name: 'KafkaJSRequestTimeoutError' });
      nowMs = 7_000;
      assert.equal(silence.silentMs, 7_000);
    }, silence);
  });

  it('22: does not combine a response with remaining bytes of an earlier connection', async () => {
    await withSilentServer(async ({ connection, request, ends }) => {
      await connection.connect();
      const cut = assert.rejects(request(600_000), { name: 'KafkaJSConnectionClosedError' });
      await sent(ends, 0);
      ends[0]?.end(Buffer.from([0, 0, 0, 9, 0, 0]));
      await cut;
      await connection.connect();
      const answered = request(600_000);
      await sent(ends, 1);
      ends[1]?.write(Buffer.from([0, 0, 0, 8, 0, 0, 0, 1, 7, 7, 7, 7]));
      assert.deepEqual(await answered, Buffer.from([7, 7, 7, 7]));
    });
  });

  for (const [what, size] of [
    ['that is too short for its correlation id', [0, 0, 0, 0]],
    ['of negative size', [255, 255, 255, 250]],
    ['of another protocol', [...Buffer.from('HTTP/1.1 400 Bad Request')]],
  ] as const)
    it(`22: is closed by a response ${what}`, async () => {
      await withSilentServer(async ({ connection, request, ends }) => {
        await connection.connect();
        const refused = assert.rejects(request(600_000), /unreadable response/);
        await sent(ends, 0);
        ends[0]?.write(Buffer.from(size));
        await refused;
        assert.equal(connection.isConnected(), false);
      });
    });

  for (const throttledMs of [0, 60_000]) {
    it(`12: rejects requests that arrived while it was closing${throttledMs > 0 ? ', held back by a quota' : ''}`, async () => {
      await withSilentServer(async ({ connection, request }) => {
        await connection.connect();
        const { requestQueue } = connection;
        requestQueue.throttledUntil = performance.now() + throttledMs;
        let asked: Promise<void> | undefined;
        const { waitForPendingRequests } = requestQueue;
        requestQueue.waitForPendingRequests = async () => {
          requestQueue.waitForPendingRequests = waitForPendingRequests;
          // A request arrives after the check for pending requests.
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

  it('13: opens one socket for concurrent connects', async () => {
    await withSilentServer(async ({ connection, sockets }) => {
      await Promise.all([connection.connect(), connection.connect(), connection.connect()]);
      assert.equal(sockets.length, 1);
    });
  });

  it('13: ignores events of a socket that it has closed', async () => {
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
