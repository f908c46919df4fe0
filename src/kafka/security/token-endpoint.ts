/** One request for a token: the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4). */
import { type HttpExchange, isProxyFailure } from '../../core/ports/http.ts';
import type { TokenOptions } from './options.ts';
import { SecurityError } from './security-error.ts';
import { tlsRemedy } from './tls-failure.ts';

export interface Token {
  /** Never to be logged or put into an error. */
  readonly value: string;
  readonly lifetimeMs: number;
}

const MAX_ANSWER_BYTES = 1024 * 1024;
/** Of a token of which nobody says how long it lasts. */
const UNKNOWN_LIFETIME_MS = 60_000;

/** @throws SecurityError that names the endpoint's host and what to check; retriable when it may work a moment later. */
export async function requestToken(options: TokenOptions, signal: AbortSignal): Promise<Token> {
  const { host } = new URL(options.endpoint);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
  let answer: Answer;
  try {
    answer = await post(options, limit);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SecurityError) throw error;
    throw notReached(host, options, error, limit.aborted);
  }
  if (answer.status !== 200) throw refused(host, answer);
  const fields = objectIn(answer.body);
  const value = fields?.access_token;
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw new SecurityError(
      `the token endpoint ${host} answers without a token: is kafka.sasl.oauth.tokenEndpoint the address of a token endpoint?`,
      { retriable: false },
    );
  return { value, lifetimeMs: lifetimeOf(fields?.expires_in, value) };
}

interface Answer {
  readonly status: number;
  readonly body: string;
}

async function post(options: TokenOptions, signal: AbortSignal): Promise<Answer> {
  const { endpoint, clientId, scope, audience, parameters } = options;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope === undefined ? {} : { scope }),
    ...(audience === undefined ? {} : { audience }),
    ...parameters,
  }).toString();
  const login = `${formEncoded(clientId)}:${formEncoded(await options.clientSecret())}`;
  const headers = {
    accept: 'application/json',
    authorization: `Basic ${Buffer.from(login).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  };
  // One request in many minutes: a connection that is kept would only be found dead.
  const http = opened(options);
  try {
    return await read(
      await http.send(
        { method: 'POST', url: new URL(endpoint), headers, body: Buffer.from(form) },
        signal,
      ),
    );
  } finally {
    await http.close();
  }
}

function opened({ open, endpoint }: TokenOptions): HttpExchange {
  try {
    return open();
  } catch (error) {
    // A file that is being replaced is there a moment later.
    const why = (error as Error).message;
    throw new SecurityError(
      `no token for Kafka from ${new URL(endpoint).host}: ${why}; check kafka.sasl.oauth.ca and service.proxy`,
      {
        retriable: true,
      },
    );
  }
}

async function read({ status, body }: Awaited<ReturnType<HttpExchange['send']>>): Promise<Answer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new Error(`its answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return { status, body: Buffer.concat(parts).toString('utf8') };
}

function notReached(
  host: string,
  options: TokenOptions,
  error: unknown,
  late: boolean,
): SecurityError {
  const { code = '', message = String(error) } = error as NodeJS.ErrnoException;
  if (isProxyFailure(error)) {
    const text = `no token for Kafka from ${host}: the proxy did not let the request through (${code}): check service.proxy, or HTTPS_PROXY and NO_PROXY`;
    return new SecurityError(text, { retriable: true });
  }
  const why = late ? `it did not answer within ${options.timeoutMs} ms` : code || message;
  const remedy = tlsRemedy(error, {
    ca: 'kafka.sasl.oauth.ca',
    name: 'kafka.sasl.oauth.tokenEndpoint',
  });
  return new SecurityError(
    `no token for Kafka from ${host}: ${why}; ${remedy ?? 'check kafka.sasl.oauth.tokenEndpoint, and that it can be reached from here'}`,
    { retriable: remedy === undefined },
  );
}

function refused(host: string, { status, body }: Answer): SecurityError {
  const error = objectIn(body)?.error;
  // A code of RFC 6749, section 5.2; never the description, which may repeat what was sent.
  const code = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : '';
  const retriable = status === 429 || status === 408 || status >= 500;
  const remedy = retriable
    ? 'it is asked again'
    : code === ' invalid_scope' || code === ' invalid_target'
      ? 'check kafka.sasl.oauth.scope and kafka.sasl.oauth.audience'
      : status === 401 ||
          status === 403 ||
          code === ' invalid_client' ||
          code === ' unauthorized_client'
        ? 'check kafka.sasl.oauth.clientId and kafka.sasl.oauth.clientSecret'
        : status === 404 || status === 405 || (status >= 300 && status < 400)
          ? 'check kafka.sasl.oauth.tokenEndpoint; redirects are not followed'
          : 'check kafka.sasl.oauth: scope, audience, parameters';
  return new SecurityError(
    `the token endpoint ${host} gives no token for Kafka (${status}${code}): ${remedy}`,
    { retriable },
  );
}

function lifetimeOf(expiresIn: unknown, token: string): number {
  const seconds = Number(expiresIn);
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1_000;
  const claims = objectIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  const leftMs = Number(claims?.exp) * 1_000 - Date.now();
  return Number.isFinite(leftMs) && leftMs > 0 ? leftMs : UNKNOWN_LIFETIME_MS;
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null
      ? (parsed as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 6749, section 2.3.1: both halves are encoded like the values of a form. */
const formEncoded = (text: string): string => new URLSearchParams({ _: text }).toString().slice(2);
