/** Servers with certificates, and a proxy, on 127.0.0.1; closed when the test ends. */
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http';
import { createServer, type Server as HttpsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

export const CERTIFICATES = fileURLToPath(new URL('./certificates', import.meta.url));
export const pem = (name: string) => path.join(CERTIFICATES, name);
const read = (name: string) => readFileSync(pem(name));

export async function httpsServer(
  t: TestContext,
  handler: (
    request: IncomingMessage,
    body: Buffer,
  ) => { status?: number; body?: string; headers?: Record<string, string> },
  { certificate = 'server', ...options }: ServerOptions & { certificate?: 'server' | 'self' } = {},
): Promise<{ readonly port: number; readonly server: HttpsServer }> {
  const own = { cert: read(`${certificate}.pem`), key: read(`${certificate}.key`) };
  const server = createServer({ ...own, ...options }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { status = 200, body = '', headers = {} } = handler(request, Buffer.concat(chunks));
      response.writeHead(status, headers).end(body);
    });
  });
  // Some tests expect the handshake to fail.
  server.on('tlsClientError', () => {});
  return { port: await listening(t, server), server };
}

export interface ProxyRequest {
  readonly what: string;
  readonly authorization: string | undefined;
}

/**
 * Starts a proxy that resolves every name to this machine and records the requested targets.
 * `refuse`: the status with which it responds to every request.
 */
export async function proxyServer(
  t: TestContext,
  refuse: (request: ProxyRequest) => number | undefined = () => undefined,
) {
  const seen: ProxyRequest[] = [];
  const sockets = new Set<Socket>();
  const note = (request: IncomingMessage): ProxyRequest => {
    const one = {
      what: `${request.method} ${request.url}`,
      authorization: request.headers['proxy-authorization'],
    };
    seen.push(one);
    return one;
  };
  const server = createHttpServer();
  server.on('connect', (request, socket: Socket, head) => {
    socket.on('error', () => {});
    const status = refuse(note(request));
    if (status !== undefined) {
      socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    const onward = connect(Number(request.url?.split(':').at(-1)), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      onward.pipe(socket);
      socket.pipe(onward);
    });
    for (const one of [socket, onward]) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        socket.destroy();
        onward.destroy();
      });
    }
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const port = await listening(t, server);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
  };
}

async function listening(t: TestContext, server: Server | HttpsServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
