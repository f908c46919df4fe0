/** Real servers on 127.0.0.1 with scripted behaviour; closed when the test ends. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import type { TestContext } from 'node:test';
import { CANARY } from '../../../../../test/support/stack/canary.ts';
import { ContentReviewClient } from '../../../src/client.ts';
import type { ContentReviewClientOptions } from '../../../src/service/options.ts';
import { constantRandom, InstantClock, RecordingObserver } from '../../unit/service/fakes.ts';

export interface Seen {
  readonly method: string;
  readonly url: string;
  /** Path of the request, without the origin. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

export type Handler = (response: ServerResponse, request: Seen, index: number) => void;

export interface TestServer {
  readonly url: string;
  readonly seen: Seen[];
}

/** Starts an HTTP server. The handler is called once per request, with the number of earlier requests. */
export async function httpServer(t: TestContext, handler: Handler): Promise<TestServer> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const entry = {
        method: request.method ?? '',
        url: request.url ?? '',
        path: (request.url ?? '').replace(/\?.*$/, ''),
        headers: request.headers,
        body: Buffer.concat(chunks),
      };
      seen.push(entry);
      handler(response, entry, seen.length - 1);
    });
  });
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: await listening(server), seen };
}

/** Starts a TCP server. With each chunk, `onData` is called with everything that the connection has sent so far. */
export async function rawServer(
  t: TestContext,
  onData: (socket: Socket, received: string, connection: number) => void,
): Promise<{ readonly url: string; readonly received: string[] }> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    const connection = received.push('') - 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received[connection] += chunk.toString('latin1');
      onData(socket, received[connection] ?? '', connection);
    });
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: await listening(server), received };
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns an address without a listener. */
export async function deadAddress(): Promise<string> {
  const server = createTcpServer();
  const url = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return url;
}

export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify(body));
}

export const KEY = CANARY.key;

/** Returns a client of the given server. Retries do not really wait, and the observer's calls are recorded. */
export function clientFor(
  t: TestContext,
  baseUrl: string,
  options: Partial<ContentReviewClientOptions> = {},
) {
  const clock = new InstantClock();
  const observer = new RecordingObserver();
  const client = new ContentReviewClient({
    baseUrl,
    apiKey: async () => KEY,
    clock,
    random: constantRandom(0.5),
    observer,
    ...options,
  });
  t.after(() => client.close());
  return { client, clock, observer };
}

export const NEVER = { signal: new AbortController().signal };

export async function collect(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
