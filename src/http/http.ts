/** One HTTP exchange over a keep-alive pool: undici, wrapped so that nothing of its errors gets out (I6). */
import type { Readable } from 'node:stream';
import { Agent, DecoratorHandler, type Dispatcher } from 'undici';
import { abortable } from '../base/abortable.ts';
import { USER_AGENT } from '../base/version.ts';
import { connector, type LookupAll, proxyHeaders } from './dialer.ts';
import { NetworkError, networkError } from './network-error.ts';
import type { ProxyFor } from './proxy.ts';
import type { TlsContext } from './tls-files.ts';

/** More than any error page or decision needs to tell. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** Of all headers of an answer together: storage sends a few hundred. */
const MAX_HEADER_BYTES = 16 * 1024;
/** How much of an unwanted body is read to keep its connection; beyond it the connection is dropped. */
const MAX_DISCARDED_BYTES = 64 * 1024;

export interface HttpTimeouts {
  /** Name lookup, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From the start of sending to the end of the answer's headers. Uploads get more, see minUploadBytesPerSecond. */
  readonly headersTimeoutMs: number;
  /** Longest silence inside a download; for answers of the API the longest time that the whole body may take. */
  readonly bodyTimeoutMs: number;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream needs a `content-length` header: storage refuses chunked uploads. */
  readonly body?: Buffer | Readable;
  /** Instead of the pool's own. */
  readonly headersTimeoutMs?: number;
  /** Called when the request begins to go out on a connection: from here on the other side may have acted on it. */
  readonly onSent?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  /** A header by its lower-case name; several of one name are joined. */
  header(name: string): string | undefined;
  /** The body as it arrives, still encoded. Errors are undici's own: pass them through `networkError`. */
  readonly body: Readable;
  /** The whole body as text. @throws NetworkError, or the signal's reason */
  text(): Promise<string>;
  /** Gives the body up and, when little is left of it and comes soon, keeps the connection. Never throws. */
  discard(): void;
}

/** How the connections of a pool are made. */
export interface Network {
  /** See ConnectorOptions. */
  readonly allowsAddress?: (host: string, address: string) => boolean;
  readonly proxyFor: ProxyFor;
  readonly tls: TlsContext | undefined;
  /** For proxies that are reached by https. */
  readonly proxyTls: TlsContext | undefined;
  readonly lookup?: LookupAll | undefined;
}

export class HttpPool {
  readonly #agent: Agent;
  /** To proxies that pass plain http on. */
  readonly #forward: Agent;
  readonly #timeouts: HttpTimeouts;
  readonly #proxyFor: ProxyFor;
  readonly #closing = new AbortController();

  /** @param maxConnections to one origin; what is beyond waits for a free one. */
  constructor(timeouts: HttpTimeouts, maxConnections: number, network: Network) {
    this.#timeouts = timeouts;
    this.#proxyFor = network.proxyFor;
    const common = { timeoutMs: timeouts.connectTimeoutMs, closed: this.#closing.signal };
    const agent = (connect: ReturnType<typeof connector>): Agent =>
      new Agent({
        connect,
        connections: maxConnections,
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: timeouts.headersTimeoutMs,
        bodyTimeout: timeouts.bodyTimeoutMs,
        // Shorter than the idle limit of common load balancers, so that it is us who hang up.
        keepAliveTimeout: 30_000,
        keepAliveMaxTimeout: 300_000,
        // One request per connection at a time: presigned storage was measured over HTTP/1.1, and a slow answer holds up nobody.
        pipelining: 1,
        allowH2: false,
      });
    this.#agent = agent(connector({ ...common, ...network }));
    const forward = connector({
      ...common,
      proxyFor: () => undefined,
      tls: network.proxyTls,
      proxyTls: undefined,
    });
    // Without a name the connector takes that of the origin, the proxy; undici has that of the header Host.
    this.#forward = agent((target, callback) => forward({ ...target, servername: '' }, callback));
  }

  /**
   * Sends one request and resolves when the answer's headers are there. Follows no redirect, retries nothing.
   * @throws NetworkError; or the signal's reason, at once.
   */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    let sent = false;
    const headersTimeoutMs = request.headersTimeoutMs ?? this.#timeouts.headersTimeoutMs;
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const noteSent: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
      dispatch(
        options,
        watchSending(handler, () => {
          sent = true;
          clearTimeout(timer);
          // undici's own clock begins anew with each interim answer (1xx).
          timer = setTimeout(
            () => late.abort(new NetworkError('headers_timeout', 'ONLY_INTERIM_ANSWERS')),
            2 * headersTimeoutMs,
          );
          request.onSent?.();
        }),
      );
    const { agent, proxied, ...target } = await this.#route(request);
    const exchange = agent.compose(noteSent).request({
      ...target,
      method: request.method,
      body: request.body ?? null,
      headersTimeout: headersTimeoutMs,
      signal: AbortSignal.any([signal, late.signal]),
    });
    try {
      // undici lets an aborted request wait while it connects; here the abort wins at once.
      const { statusCode, headers, body } = await abortable(exchange, signal, (unwanted) =>
        unwanted.body.on('error', () => {}).destroy(),
      );
      if (proxied && statusCode === 407) {
        body.on('error', () => {}).destroy();
        throw new NetworkError('proxy_failed', 'HTTP_407');
      }
      return {
        status: statusCode,
        header: (name) => headers[name]?.toString(),
        body,
        text: () => readText(body, signal, this.#timeouts.bodyTimeoutMs),
        discard: () => {
          const signal = AbortSignal.timeout(this.#timeouts.bodyTimeoutMs);
          void body.dump({ limit: MAX_DISCARDED_BYTES, signal }).catch(() => {});
        },
      };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw networkError(error, sent ? 'sent' : 'connecting');
    } finally {
      clearTimeout(timer);
    }
  }

  /** Plain http through a proxy has the whole address as its target; https goes through a tunnel, which the connector makes. */
  async #route({ url, headers: given }: HttpRequest) {
    const isNamed = Object.keys(given).some((name) => name.toLowerCase() === 'user-agent');
    const headers = isNamed ? given : { ...given, 'user-agent': USER_AGENT };
    const proxy = url.protocol === 'http:' ? this.#proxyFor(url) : undefined;
    const path = url.pathname + url.search;
    if (proxy === undefined)
      return {
        agent: this.#agent,
        proxied: false,
        origin: url.origin,
        path,
        headers: { ...headers },
      };
    const forwarded = { ...headers, host: url.host, ...(await proxyHeaders(proxy)) };
    // The same for all: undici makes a new connection where it differs.
    const servername = proxy.url.hostname;
    const target = {
      origin: proxy.url.origin,
      path: url.origin + path,
      headers: forwarded,
      servername,
    };
    return { agent: this.#forward, proxied: true, ...target };
  }

  /** Ends every exchange under way with an AbortError and frees the connections. Repeatable. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(
      [this.#agent, this.#forward].map(async (agent) => agent.destroyed || (await agent.destroy())),
    );
  }
}

/** Forwards everything to `handler`, and tells when the request begins to be written. */
function watchSending(
  handler: Dispatcher.DispatchHandler,
  onSent: () => void,
): Dispatcher.DispatchHandler {
  const watched: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
  const forward = watched.onRequestStart?.bind(watched);
  watched.onRequestStart = (controller, context) => {
    onSent();
    forward?.(controller, context);
  };
  return watched;
}

/** `maxMs` bounds the whole: a silence is ended by the pool, a drip by the check at each drop. */
async function readText(body: Readable, signal: AbortSignal, maxMs: number): Promise<string> {
  const startedMs = performance.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_TEXT_BYTES) throw new NetworkError('bad_answer', 'BODY_TOO_LARGE');
      if (performance.now() - startedMs > maxMs)
        throw new NetworkError('body_timeout', 'BODY_TOO_SLOW');
      chunks.push(chunk);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof NetworkError ? error : networkError(error, 'body');
  }
  return Buffer.concat(chunks, bytes).toString('utf8');
}
