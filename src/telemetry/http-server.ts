/**
 * HTTP server for operators: /metrics for Prometheus, /livez and /readyz for the platform, and the
 * console. It is read-only, and its responses contain no secrets (I6).
 */

import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Logger } from '../core/ports/telemetry.ts';
import type { Health } from './health.ts';
import { refusal } from './host-guard.ts';
import type { PromMetrics } from './metrics.ts';

/** Minimum age of the text before it is rendered again, as a multiple of its rendering time. */
const TIMES_AS_LONG = 20;
const MAX_AGE_MS = 1_000;

/**
 * Returns a function that renders /metrics. Concurrent scrapers share the text, because 120 of them
 * delayed the probes. @param now monotonic clock, ms
 */
export function metricsPage(
  metrics: PromMetrics,
  health: Health,
  now: () => number,
): () => Promise<string> {
  let text: Promise<string> | undefined;
  let untilMs = 0;
  return async () => {
    const startedMs = now();
    if (text !== undefined && startedMs < untilMs) return await text;
    untilMs = startedMs + MAX_AGE_MS;
    health.publish(metrics);
    text = metrics.render();
    try {
      return await text;
    } finally {
      untilMs = startedMs + Math.min(MAX_AGE_MS, TIMES_AS_LONG * (now() - startedMs));
    }
  };
}

// An import would also load Node's undici for unused exports, which takes 50 ms and 3 MiB.
const { createServer } = process.getBuiltinModule('node:http');

export interface TelemetryServerOptions {
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
  readonly metrics: PromMetrics;
  readonly health: Health;
  readonly logger: Logger;
  /** Pages for all other paths. */
  readonly pages: Pages;
}

/** Returns undefined for a path without a page. */
export type Pages = (request: {
  readonly path: string;
  /** Part of the address after the question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
}) => Promise<PageResponse | undefined>;

export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
}

export interface TelemetryServer {
  /** Address of the server, `http://host:port`, with the actual port. */
  readonly url: string;
  readonly port: number;
  /** Closes open connections and frees the port. Idempotent. */
  close(): Promise<void>;
}

const CLIENT_TIMEOUT_MS = 5_000;
/** Maximum time from accepting a connection to the last header of its first request. */
const HEADERS_TIMEOUT_MS = 2_000;
const CHECK_MS = 1_000;
/** Maximum time without traffic on a connection, because some clients never read the response. */
const SILENCE_MS = 60_000;

/** @throws Error that contains the option to change, if the server cannot listen on the address */
export async function startTelemetryServer(
  options: TelemetryServerOptions,
): Promise<TelemetryServer> {
  const { host, logger, metrics, health } = options;
  const metricsText = metricsPage(metrics, health, () => performance.now());
  const busy = new WeakSet<Socket>();
  const server = createServer(
    {
      requestTimeout: CLIENT_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      keepAliveTimeout: CLIENT_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_MS,
    },
    (request, response) => {
      const { socket } = request;
      // Node reads thousands of pipelined requests ahead, and each would cost a response.
      if (busy.has(socket)) return void socket.destroy();
      busy.add(socket);
      response.once('close', () => busy.delete(socket));
      // Discards the body, which no path uses.
      request.resume();
      const respond = async () => {
        const { status, headers, body } = await answer(request, options, metricsText, address);
        response.writeHead(status, headers).end(body);
      };
      respond().catch((error: unknown) => {
        logger.error({ error }, 'telemetry request failed');
        fail(response);
      });
    },
  );
  server.timeout = SILENCE_MS;
  const { port, address } = await listen(server, host, options.port);
  // The server may later fail to accept a connection (too many open files). This must not end the process.
  server.on('error', (error) =>
    logger.warn({ error }, 'telemetry server cannot accept connections'),
  );
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  { url = '/', method = '', headers }: IncomingMessage,
  { host, health, metrics, pages }: TelemetryServerOptions,
  metricsText: () => Promise<string>,
  bound: string,
): Promise<PageResponse> {
  const reason = refusal(host, bound, headers);
  if (reason !== undefined) return json(403, { status: 'refused', reason });
  const [path = '/', ...rest] = url.split('?');
  if (method !== 'GET' && method !== 'HEAD')
    return json(405, { status: 'method not allowed' }, { allow: 'GET, HEAD' });
  if (path === '/livez') {
    const { ok, stuck } = health.liveness();
    return json(ok ? 200 : 503, { status: ok ? 'alive' : 'stuck', stuck });
  }
  if (path === '/readyz') {
    const { ok, conditions } = health.readiness();
    return json(ok ? 200 : 503, { status: ok ? 'ready' : 'not ready', conditions });
  }
  if (path === '/metrics') {
    const type = { 'content-type': metrics.contentType, 'cache-control': 'no-store' };
    return { status: 200, headers: type, body: await metricsText() };
  }
  const page = await pages({ path, query: rest.join('?'), headers });
  return page ?? json(404, { status: 'not found', paths: ['/', '/metrics', '/livez', '/readyz'] });
}

function json(status: number, body: object, headers: PageResponse['headers'] = {}): PageResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body: `${JSON.stringify(body, null, 2)}\n`,
  };
}

function fail(response: ServerResponse): void {
  const { status, headers, body } = json(500, { status: 'error', reason: 'see the log' });
  if (response.headersSent) response.destroy();
  else response.writeHead(status, headers).end(body);
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      const cause =
        error.code === 'EADDRINUSE' ? 'the port is in use' : (error.code ?? error.message);
      const remedy = 'change http.host or http.port';
      reject(new Error(`cannot listen on ${host}:${port} (${cause}): ${remedy}`, { cause: error }));
    };
    server.once('error', failed);
    server.listen(port, host, () => {
      server.off('error', failed);
      resolve(server.address() as AddressInfo);
    });
  });
}
