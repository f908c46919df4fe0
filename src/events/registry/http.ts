/** HTTP requests to a registry: order of addresses, timeout, credentials, and interpretation of responses. */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import { tryParseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import type { HttpPool } from '../../../packages/client/src/http/http.ts';
import { NetworkError, shownErrorCode } from '../../../packages/client/src/http/network-error.ts';
import {
  type RegistryOperation,
  RegistryRefused,
  type RegistrySettings,
  RegistryUnavailable,
  UnusableSchema,
} from './registry.ts';

export interface RegistryRequest {
  readonly operation: RegistryOperation;
  /** Encoded path below the registry's address, with a leading slash. */
  readonly path: string;
  /** JSON to POST. Absent for a GET. */
  readonly body?: object;
}

const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json';

export class RegistryHttp {
  readonly #settings: RegistrySettings;
  #http: HttpPool | undefined;
  #closed = false;
  /** Index of the address to try first: the one that responded last or, if it then failed, its successor. */
  #first = 0;

  constructor(settings: RegistrySettings) {
    this.#settings = settings;
  }

  /**
   * Sends a request to one address after another until one responds. Begins with the address that
   * responded last.
   * @returns the parsed JSON of the response
   * @throws RegistryUnavailable, RegistryRefused, UnusableSchema for a response that is too large,
   * or the signal's reason at once
   */
  async ask(request: RegistryRequest, signal: AbortSignal): Promise<unknown> {
    const { urls } = this.#settings;
    const first = this.#first;
    let failure: unknown;
    for (const step of urls.keys()) {
      const index = (first + step) % urls.length;
      try {
        return await this.#askOne(urls[index] as string, request, signal);
      } catch (error) {
        if (!(error instanceof RegistryUnavailable)) throw error;
        failure = error;
        this.#first = (index + 1) % urls.length;
      }
    }
    throw failure;
  }

  /** Cancels pending requests. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#http?.close();
  }

  async #askOne(url: string, request: RegistryRequest, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const { observer, timeoutMs } = this.#settings;
    const report = (code: string) => observer?.request(request.operation, code);
    try {
      const { status, text } = await this.#exchange(url, request, signal);
      report(String(status));
      return understood(status, text);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof RegistryUnavailable || error instanceof RegistryRefused) throw error;
      if (Object(error).code === 'BODY_TOO_LARGE') {
        report('bad_answer');
        throw new UnusableSchema('the response of the registry is larger than 4 MiB');
      }
      const failure = networkFailure(error, timeoutMs);
      report(failure.code);
      throw failure;
    }
  }

  async #exchange(url: string, { path, body }: RegistryRequest, signal: AbortSignal) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#settings.timeoutMs)]);
    const authorization = await abortable(this.#authorization(), limit);
    const headers = {
      accept: `${MEDIA_TYPE}, application/json`,
      ...(body === undefined ? {} : { 'content-type': MEDIA_TYPE }),
      ...(authorization === undefined ? {} : { authorization }),
    };
    const request = {
      method: body === undefined ? ('GET' as const) : ('POST' as const),
      url: new URL(url.replace(/\/+$/, '') + path),
      headers,
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    };
    const response = await this.#open().send(request, limit);
    return { status: response.status, text: await response.text() };
  }

  #open(): HttpPool {
    const unavailable = (message: string) => new RegistryUnavailable('network', message);
    if (this.#closed) throw unavailable('the registry client was closed');
    try {
      this.#http ??= this.#settings.open();
      return this.#http;
    } catch (error) {
      throw unavailable(`cannot connect to the registry: ${(error as Error).message}`);
    }
  }

  async #authorization(): Promise<string | undefined> {
    const { credentials } = this.#settings;
    if (credentials.kind === 'none') return undefined;
    if (credentials.kind === 'bearer') return `Bearer ${await credentials.token()}`;
    const login = `${credentials.user}:${await credentials.password()}`;
    return `Basic ${Buffer.from(login).toString('base64')}`;
  }
}

/** Returns the JSON of a successful response. @throws RegistryUnavailable, RegistryRefused */
function understood(status: number, text: string): unknown {
  if (status === 401 || status === 403) {
    throw new RegistryUnavailable(
      String(status),
      `the registry responded with ${status}: the credentials of schemaRegistry are wrong or lack the required right`,
    );
  }
  if (status >= 500 || status === 429 || status === 408)
    throw new RegistryUnavailable(String(status), `the registry responded with ${status}`);

  const answer = tryParseJson(text) ?? undefined;
  if (status >= 200 && status < 300 && answer !== undefined) return answer;
  const { error_code: code, message } = Object(answer) as Readonly<Record<string, unknown>>;
  // A 404 or 405 without one of the registry's codes means that the path is wrong.
  const missing = status === 404 || status === 405;
  const known = typeof code === 'number' && (!missing || (code >= 40_400 && code < 40_500));
  if (status >= 400 && known) {
    const reason = typeof message === 'string' ? message.slice(0, 2_000) : `status ${status}`;
    throw new RegistryRefused(status, code, reason);
  }
  // A response from a proxy or a wrong path is not a reason for dead letters.
  throw new RegistryUnavailable(
    'bad_answer',
    `the response (status ${status}) is not from a schema registry: does schemaRegistry.urls end with the path of its Confluent API?`,
  );
}

/** Reduces an error to parts that may be shown, because the original can contain headers. */
function networkFailure(error: unknown, timeoutMs: number): RegistryUnavailable {
  const code = shownErrorCode(error);
  const failure = error instanceof NetworkError ? error.failure : '';
  const [kind, message] =
    Object(error).name === 'TimeoutError' || failure.endsWith('_timeout')
      ? ['timeout', `the registry did not respond within ${timeoutMs} ms`]
      : failure === 'proxy_failed'
        ? [
            failure,
            `the proxy refused the request to the registry (${code}): check HTTPS_PROXY and NO_PROXY`,
          ]
        : failure === 'tls_failed'
          ? [failure, `no TLS connection to the registry (${code})`]
          : ['network', `no connection to the registry (${code})`];
  return new RegistryUnavailable(kind, message);
}
