/** Token requests with the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4). */
import { tryParseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import type { HttpPool } from '../../../packages/client/src/http/http.ts';
import { NetworkError } from '../../../packages/client/src/http/network-error.ts';
import { clientAssertion, expiryOf } from './jwt.ts';
import type { KafkaToken, TokenOrigin } from './options.ts';
import { SecurityError, tlsRemedy } from './security-error.ts';

export interface TokenEndpoint {
  readonly endpoint: string;
  readonly clientId: string;
  /** Returns the client secret. Called for each request. Either this or `clientAssertion` is set. */
  readonly clientSecret?: (() => Promise<string>) | undefined;
  /** Returns a client assertion, or the private key to sign one. Called for each request. */
  readonly clientAssertion?: (() => Promise<string>) | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  /** Opens a connection to the token endpoint for one request. @throws Error whose message may be shown */
  readonly open: () => HttpPool;
  readonly timeoutMs: number;
}

export const endpointTokens = (options: TokenEndpoint): TokenOrigin => ({
  request: (signal) => requestToken(options, signal),
  remedy: 'check parameters and extensions in kafka.sasl.oauth',
  principal: 'User:<subject of the token>',
});

/** Assumed lifetime of a token without an expiry. */
const UNKNOWN_LIFETIME_MS = 60_000;

/** Requests a token. @throws SecurityError that names the endpoint's host and the option to check */
export async function requestToken(
  options: TokenEndpoint,
  signal: AbortSignal,
): Promise<KafkaToken> {
  const { host } = new URL(options.endpoint);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
  let status: number;
  let fields: Record<string, unknown>;
  try {
    const answer = await post(options, limit);
    status = answer.status;
    fields = jsonObject(answer.body);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof SecurityError) throw error;
    throw notReached(host, options, error, limit.aborted);
  }
  if (status !== 200) throw refusal(host, status, fields);
  const { access_token: value, expires_in: expiresIn } = fields;
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value))
    throw new SecurityError(
      `the token endpoint ${host} responded without a token: check kafka.sasl.oauth.tokenEndpoint`,
    );
  return { value, lifetimeMs: lifetimeOf(expiresIn, value) };
}

async function post(
  options: TokenEndpoint,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  const { endpoint, clientId, parameters } = options;
  const [secret, assertion] = [await options.clientSecret?.(), await options.clientAssertion?.()];
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(assertion !== undefined && {
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: clientAssertion(assertion, clientId, endpoint),
    }),
    ...parameters,
  });
  const login = secret !== undefined && `${formEncoded(clientId)}:${formEncoded(secret)}`;
  const headers = {
    accept: 'application/json',
    ...(login && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    'content-type': 'application/x-www-form-urlencoded',
  };
  const request = { url: new URL(endpoint), headers, body: Buffer.from(String(form)) };
  // Requests are many minutes apart, so a kept connection would be dead by the next request.
  const http = options.open();
  try {
    const answer = await http.send({ method: 'POST', ...request }, signal);
    return { status: answer.status, body: await answer.text() };
  } finally {
    await http.close();
  }
}

function notReached(
  host: string,
  { timeoutMs }: TokenEndpoint,
  error: unknown,
  late: boolean,
): SecurityError {
  const { code, message = String(error) } = error as NodeJS.ErrnoException;
  const names = { ca: 'kafka.sasl.oauth.ca', name: 'kafka.sasl.oauth.tokenEndpoint' };
  const tls = tlsRemedy(error, names);
  const why = late ? `it did not respond within ${timeoutMs} ms` : (code ?? message);
  const isProxy = error instanceof NetworkError && error.failure === 'proxy_failed';
  const remedy = isProxy
    ? 'the proxy refused the request: check HTTPS_PROXY and NO_PROXY'
    : error instanceof TypeError
      ? 'check kafka.sasl.oauth.ca, HTTPS_PROXY and NO_PROXY'
      : (tls ?? 'check kafka.sasl.oauth.tokenEndpoint, and that it can be reached from here');
  return new SecurityError(`no token for Kafka from ${host}: ${why}; ${remedy}`, {
    // The cause may be a file that is being replaced.
    retriable: tls === undefined,
  });
}

/** Remedies by status and error code. The first matching entry applies. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/invalid_(scope|target)/, 'check kafka.sasl.oauth.parameters'],
  [
    /^40[13]|invalid_client|unauthorized_client/,
    'check kafka.sasl.oauth: clientId, and clientSecret or clientAssertion',
  ],
  [/^(404|405|3)/, 'check kafka.sasl.oauth.tokenEndpoint; redirects are not followed'],
  [/^/, 'check kafka.sasl.oauth.parameters'],
];

function refusal(host: string, status: number, { error }: Record<string, unknown>): SecurityError {
  // Uses only an error code of RFC 6749, section 5.2. The description may repeat what was sent.
  const code = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : '';
  const answer = `${status}${code}`;
  const retriable = status === 429 || status === 408 || status >= 500;
  const remedy = REMEDIES.find(([pattern]) => pattern.test(answer))?.[1];
  return new SecurityError(
    `the token endpoint ${host} issued no token for Kafka (${answer}): ${retriable ? 'retrying' : remedy}`,
    { retriable },
  );
}

function lifetimeOf(expiresIn: unknown, token: string): number {
  const statedMs = /^(string|number)$/.test(typeof expiresIn) ? Number(expiresIn) * 1_000 : NaN;
  const lifetimes = [statedMs, (expiryOf(token) ?? NaN) - Date.now()];
  return lifetimes.find((ms) => Number.isFinite(ms) && ms > 0) ?? UNKNOWN_LIFETIME_MS;
}

/** Returns the fields of a JSON object, or an empty object for other text. */
const jsonObject = (text: string): Record<string, unknown> => Object(tryParseJson(text));

/** Encodes the client id or secret like a form value, as RFC 6749, section 2.3.1 requires. */
const formEncoded = (text: string): string => new URLSearchParams({ _: text }).toString().slice(2);
