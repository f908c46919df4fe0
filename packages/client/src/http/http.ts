/** HTTP with a keep-alive pool: a wrapper around undici that never shows the text of undici's errors. */
import type { Readable } from 'node:stream';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { abortable } from '../base/abortable.ts';
import { USER_AGENT } from '../base/version.ts';
import { plainBytes } from './decompression.ts';
import { dialer, type HttpNetwork } from './dialer.ts';
import { NetworkError, networkError } from './network-error.ts';

/** Maximum size of a response body that is read as text. It is larger than any error page or decision. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** Maximum size of all response headers together. Storages send a few hundred bytes. */
const MAX_HEADER_BYTES = 16 * 1024;
/**
 * Maximum bytes of an unwanted body to read so that its connection can be reused. A longer body
 * closes the connection.
 */
const MAX_DISCARDED_BYTES = 64 * 1024;

export interface HttpTimeouts {
  /** Timeout for name lookup, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** Timeout from the start of sending to the end of the response headers. */
  readonly headersTimeoutMs: number;
  /** Maximum silence within a download. For API responses, timeout for the whole body. */
  readonly bodyTimeoutMs: number;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream needs a `content-length` header, because storages reject chunked uploads. */
  readonly body?: Buffer | Readable;
  /** Replaces the pool's headersTimeoutMs. */
  readonly headersTimeoutMs?: number;
  /** Called when sending begins. From then on, the server may have acted on the request. */
  readonly onSent?: () => void;
}

export interface HttpAnswer {
  readonly status: number;
  /** Returns a header by its lower-case name. If it has several values, they are joined. */
  header(name: string): string | undefined;
  /** The body as it arrives, still encoded. Throws undici's own errors (see `networkError`). */
  readonly body: Readable;
  /** Returns the whole body as text. @throws NetworkError, or the signal's reason */
  text(): Promise<string>;
  /** Discards the body. The connection is kept if the rest of the body is short and arrives soon. Never throws. */
  discard(): void;
}

export class HttpPool {
  readonly #agent: WatchedAgent;
  /** Pool of connections to proxies. */
  readonly #proxies: Agent;
  readonly #timeouts: HttpTimeouts;

  /** @param maxConnections maximum per origin; further requests wait for a free connection */
  constructor(timeouts: HttpTimeouts, maxConnections: number, network: HttpNetwork) {
    this.#timeouts = timeouts;
    const options: Agent.Options = {
      connections: maxConnections,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: timeouts.headersTimeoutMs,
      bodyTimeout: timeouts.bodyTimeoutMs,
      // Shorter than the idle timeout of common load balancers, so that this side closes first.
      keepAliveTimeout: 30_000,
      keepAliveMaxTimeout: 300_000,
      // Presigned storage is tested with HTTP/1.1. Without pipelining, a slow response delays no
      // other.
      pipelining: 1,
      allowH2: false,
    };
    const timeoutMs = timeouts.connectTimeoutMs;
    const toProxy = buildConnector({ timeout: timeoutMs, allowH2: false });
    // undici passes the Host header as the server name. If that is empty, it uses the proxy's name.
    const connect: typeof toProxy = (target, callback) =>
      toProxy({ ...target, servername: '' }, callback);
    this.#proxies = new Agent({ ...options, connect });
    this.#agent = new WatchedAgent({
      ...options,
      connect: dialer({ ...network, timeoutMs, proxies: this.#proxies }),
    });
  }

  /**
   * Sends one request, and resolves once the response headers have arrived. Follows no redirects,
   * and does not retry.
   * @throws NetworkError, or the signal's reason at once
   */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const { headersTimeoutMs = this.#timeouts.headersTimeoutMs } = request;
    let isSent = false;
    let timer: NodeJS.Timeout | undefined;
    const onStart = (controller: Dispatcher.DispatchController) => {
      isSent = true;
      clearTimeout(timer);
      // undici restarts its own timeout at each interim response (1xx).
      timer = setTimeout(
        () => controller.abort(new NetworkError('headers_timeout', 'ONLY_INTERIM_ANSWERS')),
        2 * headersTimeoutMs,
      );
      request.onSent?.();
    };

    try {
      const { method, url, body: sent = null } = request;
      const options: WatchedOptions = {
        method,
        origin: url.origin,
        path: url.pathname + url.search,
        headers: completed(request.headers),
        body: sent,
        headersTimeout: headersTimeoutMs,
        signal,
        onStart,
      };
      const answer = this.#agent.request(options);
      // undici lets an aborted request wait for its connection. Here the abort takes effect at
      // once.
      const { statusCode, headers, body } = await abortable(answer, signal, dropBody);
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

  /** Ends every exchange in flight with an AbortError, and closes the connections. Idempotent. */
  async close(): Promise<void> {
    const agents = [this.#agent, this.#proxies];
    await Promise.all(agents.map((agent) => (agent.destroyed ? undefined : agent.destroy())));
  }
}

/** Options of a request, with a callback for the time when writing begins. */
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

function completed(headers: Readonly<Record<string, string>>): Record<string, string> {
  const has = (wanted: string) =>
    Object.keys(headers).some((name) => name.toLowerCase() === wanted);
  return {
    // Without this header, the server may use any coding.
    ...(!has('accept-encoding') && { 'accept-encoding': 'identity' }),
    ...(!has('user-agent') && { 'user-agent': USER_AGENT }),
    ...headers,
  };
}

function dropBody({ body }: { readonly body: Readable }): void {
  body.on('error', () => {}).destroy();
}

/** Reads a body as text, decompressed, because gateways may compress unasked. @param maxMs limit for the whole body */
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
