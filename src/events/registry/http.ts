/** One exchange with a registry: its addresses in turn, a time limit, credentials, and answers told apart by what they mean. */
import { abortable } from '../../base/abortable.ts';
import { type HttpExchange, isProxyFailure } from '../../core/ports/http.ts';
import { NO_SUCH_PATH, RegistryRefused, RegistryUnavailable } from './errors.ts';
import {
  type RegistryOperation,
  type RegistrySettings,
  SILENT_REGISTRY_OBSERVER,
} from './settings.ts';

export interface RegistryRequest {
  readonly operation: RegistryOperation;
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Below the registry's address, with its leading slash, encoded. */
  readonly path: string;
  readonly body?: unknown;
}

/** Schemas are kilobytes; a registry's largest default limit is 50 MB. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json';
/** Error codes of the API: `404` alone says that the path is none of a registry's. */
const UNKNOWN_CODES = { from: 40_400, to: 40_499 };
/** All others ask, and may be asked anywhere. */
const CHANGES: ReadonlySet<RegistryOperation> = new Set(['register', 'set_config']);

/** So long an address that gave no answer is not asked for what another does not know. */
const SILENT_MS = 60_000;

export class RegistryHttp {
  readonly #settings: RegistrySettings;
  #http: HttpExchange | undefined;
  #closed = false;
  /** Index of the address that answered last. */
  #first = 0;
  /** When each address last gave no answer, ms of the process. */
  readonly #silentMs: number[] = [];

  constructor(settings: RegistrySettings) {
    this.#settings = settings;
  }

  /**
   * What one address does not know (404) the others may, but for those that have just given no answer: the replicas of a registry
   * lag behind each other.
   * @returns the answer's JSON. @throws RegistryUnavailable, RegistryRefused, or the signal's reason at once
   */
  async ask(request: RegistryRequest, signal: AbortSignal): Promise<unknown> {
    const { urls } = this.#settings;
    let failure: unknown;
    let unknown: RegistryRefused | undefined;
    for (let step = 0; step < urls.length; step++) {
      const index = (this.#first + step) % urls.length;
      // Its limit of time would be spent on each id that is none.
      if (
        unknown !== undefined &&
        performance.now() - (this.#silentMs[index] ?? Number.NEGATIVE_INFINITY) < SILENT_MS
      )
        continue;
      try {
        const answer = await this.#askOne(urls[index] as string, request, signal);
        this.#first = index;
        return answer;
      } catch (error) {
        if (error instanceof RegistryUnavailable) {
          failure = error;
          this.#silentMs[index] = performance.now();
        } else if (
          error instanceof RegistryRefused &&
          error.isUnknown &&
          !CHANGES.has(request.operation)
        )
          unknown ??= error;
        else throw error;
      }
    }
    throw unknown ?? failure;
  }

  /** Ends what is under way. Repeatable. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#http?.close();
  }

  async #askOne(url: string, request: RegistryRequest, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const { observer = SILENT_REGISTRY_OBSERVER } = this.#settings;
    const startedMs = performance.now();
    const tell = (code: string) =>
      observer.request(request.operation, code, (performance.now() - startedMs) / 1_000);
    try {
      const { status, text } = await this.#exchange(url, request, signal);
      tell(String(status));
      return understood(status, text);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof RegistryUnavailable || error instanceof RegistryRefused) throw error;
      const failure = networkFailure(error, this.#settings.timeoutMs);
      tell(failure.code);
      throw failure;
    }
  }

  async #exchange(url: string, { method, path, body }: RegistryRequest, signal: AbortSignal) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#settings.timeoutMs)]);
    const authorization = await abortable(this.#authorization(), limit);
    const target = new URL(url.replace(/\/+$/, '') + path);
    const headers = {
      accept: `${MEDIA_TYPE}, application/json`,
      ...(body === undefined ? {} : { 'content-type': MEDIA_TYPE }),
      ...(authorization === undefined ? {} : { authorization }),
    };
    const sent = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
    const response = await this.#open().send({ method, url: target, headers, ...sent }, limit);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response.body) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES)
        throw new RegistryUnavailable('bad_answer', 'the answer is larger than any schema');
      chunks.push(chunk);
    }
    return { status: response.status, text: Buffer.concat(chunks, bytes).toString('utf8') };
  }

  #open(): HttpExchange {
    if (this.#closed)
      throw new RegistryUnavailable('network', 'the client of the registry was closed');
    try {
      this.#http ??= this.#settings.open();
      return this.#http;
    } catch (error) {
      throw new RegistryUnavailable(
        'network',
        `no way to the registry: ${(error as Error).message}`,
      );
    }
  }

  async #authorization(): Promise<string | undefined> {
    const { credentials } = this.#settings;
    switch (credentials.kind) {
      case 'none':
        return undefined;
      case 'bearer':
        return `Bearer ${await credentials.token()}`;
      case 'basic':
        return `Basic ${Buffer.from(`${credentials.user}:${await credentials.password()}`).toString('base64')}`;
    }
  }
}

/** What an answer means. @throws RegistryUnavailable, RegistryRefused */
function understood(status: number, text: string): unknown {
  if (status === 401 || status === 403) {
    throw new RegistryUnavailable(
      String(status),
      `the registry answered ${status}: it does not take the credentials of schemaRegistry, or they may not do this`,
    );
  }
  if (status >= 500 || status === 429 || status === 408) {
    throw new RegistryUnavailable(String(status), `the registry answered ${status}`);
  }
  const answer = parsed(text);
  if (status >= 200 && status < 300 && answer !== undefined) return answer;
  const { error_code: code, message } = (answer ?? {}) as {
    readonly error_code?: unknown;
    readonly message?: unknown;
  };
  const known =
    typeof code === 'number' &&
    ((status !== 404 && status !== 405) ||
      (code >= UNKNOWN_CODES.from && code <= UNKNOWN_CODES.to));
  if (status >= 400 && known) {
    throw new RegistryRefused(
      status,
      code,
      typeof message === 'string' ? message.slice(0, 2_000) : `status ${status}`,
    );
  }
  // Not a word about a schema: a proxy, a wrong path. Records must not suffer for it.
  throw new RegistryUnavailable(
    status === 404 || status === 405 ? NO_SUCH_PATH : 'bad_answer',
    `the answer (status ${status}) is not a schema registry's: does schemaRegistry.urls end with the path of its Confluent API?`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

const TLS = /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_)/;

/** Reduced to what may be shown: the original can hold headers. */
function networkFailure(error: unknown, timeoutMs: number): RegistryUnavailable {
  const { name, code: raw } = (error ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  const code = typeof raw === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(raw) ? raw : 'UNKNOWN';
  if (name === 'TimeoutError' || code.endsWith('_TIMEOUT')) {
    return new RegistryUnavailable('timeout', `the registry did not answer within ${timeoutMs} ms`);
  }
  if (isProxyFailure(error)) {
    const message = `the proxy did not let the request to the registry through (${code}): check service.proxy, or HTTPS_PROXY and NO_PROXY`;
    return new RegistryUnavailable('proxy_failed', message);
  }
  if (TLS.test(code))
    return new RegistryUnavailable('tls_failed', `no TLS connection to the registry (${code})`);
  return new RegistryUnavailable('network', `no connection to the registry (${code})`);
}
