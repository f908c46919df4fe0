/** The operator's window: /metrics for Prometheus, /livez and /readyz for the platform, pages for people. Reads only; holds no secrets (I6). */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../../core/ports/telemetry.ts';
import {
  OPENMETRICS_CONTENT_TYPE,
  openMetricsOf,
  prefersOpenMetrics,
} from '../metrics/exposition.ts';
import type { PromMetrics } from '../metrics/metrics.ts';
import type { Health } from './health.ts';

export interface TelemetryServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly metrics: PromMetrics;
  readonly health: Health;
  readonly logger: Logger;
  /** At `/` and wherever else it answers. */
  readonly pages?: Pages | undefined;
}

/** What people look at with a browser. */
export interface Pages {
  /** @returns undefined for a path that is none of its own */
  answer(request: {
    readonly path: string;
    readonly query: string;
    readonly headers: IncomingHttpHeaders;
  }):
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body: Buffer | string;
      }
    | undefined;
}

export interface TelemetryServer {
  /** `http://host:port`, with the port really used. */
  readonly url: string;
  readonly port: number;
  /** Cuts open connections and frees the port. Repeatable. */
  close(): Promise<void>;
}

const PATHS = ['/metrics', '/livez', '/readyz'];
const CLIENT_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 64;

/** @throws Error that names the setting to change when the address cannot be listened on. */
export async function startTelemetryServer(
  options: TelemetryServerOptions,
): Promise<TelemetryServer> {
  const server = createServer(
    {
      requestTimeout: CLIENT_TIMEOUT_MS,
      headersTimeout: CLIENT_TIMEOUT_MS,
      connectionsCheckingInterval: CLIENT_TIMEOUT_MS,
    },
    (request, response) => {
      answer(request, response, options).catch((error: unknown) => {
        options.logger.error({ error }, 'telemetry request failed');
        if (response.headersSent) response.destroy();
        else send(response, 500, { status: 'error', reason: 'see the log' });
      });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  server.keepAliveTimeout = CLIENT_TIMEOUT_MS;
  const port = await listen(server, options.host, options.port);
  // Accepting can fail later (out of file descriptors): that must not end the process.
  server.on('error', (error) =>
    options.logger.warn({ error }, 'telemetry server cannot accept a connection'),
  );
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return { url: `http://${host}:${port}`, port, close: () => close(server) };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { metrics, health, pages }: TelemetryServerOptions,
): Promise<void> {
  // A body is never read: the connection ends with the answer instead.
  request.resume();
  const [path = '/', query = ''] = (request.url ?? '/').split('?', 2);
  const page = PATHS.includes(path)
    ? undefined
    : pages?.answer({ path, query, headers: request.headers });
  if (page === undefined && !PATHS.includes(path)) {
    return send(response, 404, {
      status: 'not found',
      paths: pages === undefined ? PATHS : ['/', ...PATHS],
    });
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return send(response, 405, { status: 'method not allowed' });
  }
  if (page !== undefined) {
    response.writeHead(page.status, page.headers).end(page.body);
    return;
  }
  if (path === '/livez') {
    const { ok, loops } = health.liveness();
    return send(response, ok ? 200 : 503, { status: ok ? 'alive' : 'stuck', loops });
  }
  if (path === '/readyz') {
    const { ok, conditions } = health.readiness();
    return send(response, ok ? 200 : 503, { status: ok ? 'ready' : 'not ready', conditions });
  }
  health.publish(metrics);
  const text = await metrics.render();
  const open = prefersOpenMetrics(request.headers.accept);
  response
    .writeHead(200, {
      'content-type': open ? OPENMETRICS_CONTENT_TYPE : metrics.contentType,
      'cache-control': 'no-store',
      vary: 'Accept',
    })
    .end(open ? openMetricsOf(text) : text);
}

function send(response: ServerResponse, status: number, body: object): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(body, null, 2)}\n`);
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'another process has the port'
          : (error.code ?? error.message);
      reject(
        new Error(
          `cannot listen on ${host}:${port} (${why}): change http.host or http.port, or set http.enabled to false`,
          {
            cause: error,
          },
        ),
      );
    };
    server.once('error', failed);
    server.listen(port, host, () => {
      server.off('error', failed);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
