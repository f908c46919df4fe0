/** HTTP over a keep-alive pool: undici, wrapped so that nothing of its errors is shown. */
import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { abortable } from '../base/abortable.ts';
import { USER_AGENT } from '../base/version.ts';
import { plainBytes } from './decompression.ts';
import { dialer, type HttpNetwork, proxyHeaders } from './dialer.ts';
import { NetworkError, networkError } from './network-error.ts';
import type { ProxyFor } from './proxy.ts';

/** More than any error page or decision needs. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** All headers of an answer together: storage sends a few hundred bytes. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Part of an unwanted body that is read to keep its connection; beyond, the connection is dropped. */
const MAX_DISCARDED_BYTES = 64 * 1024;

export interface HttpTimeouts {
  /** Name lookup, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From the start of sending to the end of the answer's headers. */
  readonly headersTimeoutMs: number;
  /** Longest silence inside a download; for answers of the API the longest time of the body. */
  readonly bodyTimeoutMs: number;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream needs a `content-length` header: storage refuses chunked uploads. */
  readonly body?: Buffer | Readable;
  /** Replaces the pool's own. */
  readonly headersTimeoutMs?: number;
  /** Called when the request begins to go out: from here on the other side may have acted on it. */
  readonly onSent?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  /** A header by its lower-case name; several of one name are joined. */
  header(name: string): string | undefined;
  /** The body as it arrives, still encoded. Errors are undici's own (`networkError`). */
  readonly body: Readable;
  /** The whole body as text. @throws NetworkError, or the signal's reason */
  text(): Promise<string>;
  /** Drops the body; keeps the connection when little is left of it and comes soon. Never throws. */
  discard(): void;
}

export class HttpPool {
  readonly #agent: WatchedAgent;
  /** Connections to proxies: for tunnels, and for plain http that they pass on. */
  readonly #proxies: WatchedAgent;
  readonly #timeouts: HttpTimeouts;
  readonly #proxyFor: ProxyFor;

  /** @param maxConnections to one origin; further requests wait for a free one */
  constructor(timeouts: HttpTimeouts, maxConnections: number, network: HttpNetwork) {
    this.#timeouts = timeouts;
    this.#proxyFor = network.proxyFor;
    const options: Agent.Options = {
      connections: maxConnections,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: timeouts.headersTimeoutMs,
      bodyTimeout: timeouts.bodyTimeoutMs,
      // Shorter than the idle limit of common load balancers, so that this side hangs up first.
      keepAliveTimeout: 30_000,
      keepAliveMaxTimeout: 300_000,
      // Presigned storage was measured over HTTP/1.1; a slow answer must not block another.
      pipelining: 1,
      allowH2: false,
    };
    const timeoutMs = timeouts.connectTimeoutMs;
    const toProxies = dialer({ timeoutMs, proxyFor: () => undefined, tls: network.proxyTls });
    // undici passes the name of the header Host; without one the dialer uses the proxy's.
    const connect: typeof toProxies = (target, callback) =>
      toProxies({ ...target, servername: '' }, callback);
    this.#proxies = new WatchedAgent({ ...options, connect });
    this.#agent = new WatchedAgent({
      ...options,
      connect: dialer({ ...network, timeoutMs, proxies: this.#proxies }),
    });
  }

  /**
   * Sends one request and resolves when the answer's headers are there. Follows no redirect,
   * retries nothing.
   * @throws NetworkError; or the signal's reason, at once
   */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const { headersTimeoutMs = this.#timeouts.headersTimeoutMs } = request;
    let isSent = false;
    let timer: NodeJS.Timeout | undefined;
    const onStart = (controller: Dispatcher.DispatchController) => {
      isSent = true;
      clearTimeout(timer);
      // undici's own timeout starts again with each interim answer (1xx).
      timer = setTimeout(
        () => controller.abort(new NetworkError('headers_timeout', 'ONLY_INTERIM_ANSWERS')),
        2 * headersTimeoutMs,
      );
      request.onSent?.();
    };

    try {
      const { agent, ...target } = await this.#route(request);
      const options: WatchedOptions = {
        ...target,
        method: request.method,
        body: request.body ?? null,
        headersTimeout: headersTimeoutMs,
        signal,
        onStart,
      };
      const answer = agent.request(options);
      // undici lets an aborted request wait while it connects; here the abort wins at once.
      const { statusCode, headers, body } = await abortable(answer, signal, dropBody);
      if (agent === this.#proxies && statusCode === 407) {
        dropBody({ body });
        throw new NetworkError('proxy_failed', 'HTTP_407');
      }
      return {
        status: statusCode,
        header: (name) => headers[name]?.toString(),
        body,
        text: () => {
          const encoding = headers['content-encoding']?.toString();
          return readText(body, encoding, signal, this.#timeouts.bodyTimeoutMs);
        },
        discard: () => {
          const timeout = AbortSignal.timeout(this.#timeouts.bodyTimeoutMs);
          void body.dump({ limit: MAX_DISCARDED_BYTES, signal: timeout }).catch(() => {});
        },
      };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw networkError(error, isSent ? 'sent' : 'connecting');
    } finally {
      clearTimeout(timer);
    }
  }

  /** A proxy of plain http gets the whole address as its target; https has a tunnel. */
  async #route({ url, headers: given }: HttpRequest) {
    const has = (wanted: string) =>
      Object.keys(given).some((name) => name.toLowerCase() === wanted);
    const headers = {
      // Without the header any coding would be acceptable.
      ...(!has('accept-encoding') && { 'accept-encoding': 'identity' }),
      ...(!has('user-agent') && { 'user-agent': USER_AGENT }),
      ...given,
    };
    const path = url.pathname + url.search;
    const proxy = url.protocol === 'http:' ? this.#proxyFor(url) : undefined;
    if (proxy === undefined) return { agent: this.#agent, origin: url.origin, path, headers };
    return {
      agent: this.#proxies,
      origin: proxy.url.origin,
      path: url.origin + path,
      headers: { ...headers, host: url.host, ...proxyHeaders(proxy) },
      // The same for all requests: undici opens a new connection where it differs.
      servername: proxy.url.hostname,
    };
  }

  /** Ends every exchange in flight with an AbortError and frees the connections. Repeatable. */
  async close(): Promise<void> {
    const agents = [this.#agent, this.#proxies];
    await Promise.all(agents.map((agent) => (agent.destroyed ? undefined : agent.destroy())));
  }
}

/** Options of a request, and a function that is called when it begins to be written. */
type WatchedOptions = Dispatcher.RequestOptions & {
  readonly onStart?: (controller: Dispatcher.DispatchController) => void;
};

class WatchedAgent extends Agent {
  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
    const { onStart } = options as WatchedOptions;
    if (onStart !== undefined) {
      const start = handler.onRequestStart?.bind(handler);
      handler.onRequestStart = (controller, context) => {
        onStart(controller);
        start?.(controller, context);
      };
    }
    return super.dispatch(options, handler);
  }
}

function dropBody({ body }: { readonly body: Readable }): void {
  body.on('error', () => {}).destroy();
}

/** Text of a body, decompressed although no coding was accepted. @param maxMs bounds the whole */
async function readText(
  body: Readable,
  encoding: string | undefined,
  signal: AbortSignal,
  maxMs: number,
): Promise<string> {
  const chunks: Buffer[] = [];
  const limits = { maxBytes: MAX_TEXT_BYTES, maxRatio: Infinity, graceMs: maxMs };
  try {
    for await (const chunk of plainBytes(body, encoding, { ...limits, bytesPerSecond: Infinity }))
      chunks.push(chunk);
  } catch (error) {
    dropBody({ body });
    const known = networkError(error, 'body');
    const isTooLarge = 'code' in known && known.code === 'RESULT_TOO_LARGE';
    if (signal.aborted) throw signal.reason;
    throw isTooLarge ? new NetworkError('bad_answer', 'BODY_TOO_LARGE') : known;
  }
  return Buffer.concat(chunks).toString('utf8');
}
