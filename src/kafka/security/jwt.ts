/** JSON Web Tokens (RFC 7519): the expiry of a token, and client assertions (RFC 7523). */
import { type KeyObject, randomUUID, sign } from 'node:crypto';
import { tryParseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { privateKeyIn } from '../../../packages/client/src/http/tls-files.ts';
import { SecurityError } from './security-error.ts';

/** Maximum length of a token or assertion. Brokers and token endpoints reject longer ones. */
const MAX_LENGTH = 65_536;
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** Lifetime of a signed assertion, which is used at once. Token endpoints limit it to a few minutes. */
const ASSERTION_S = 60;

/** Returns the expiry of a JWT (ms since the epoch), or undefined for other tokens and tokens without an expiry. */
export function expiryOf(token: string): number | undefined {
  if (token.length > MAX_LENGTH || !JWT.test(token)) return undefined;
  const claims = tryParseJson(String(Buffer.from(token.split('.')[1] ?? '', 'base64url')));
  const { exp } = Object(claims) as { exp?: unknown };
  return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : undefined;
}

/**
 * Returns a text without surrounding space if it can be sent as a token.
 * @param option name of the option that has the text
 * @throws SecurityError, never with the text. It is retriable, because the file may be replaced.
 */
export function usableToken(text: string, option: string): string {
  const problem = problemOf(text.trim());
  if (problem === undefined) return text.trim();
  throw new SecurityError(`no login to Kafka: ${problem}; replace the value of ${option}`, {
    retriable: true,
  });
}

function problemOf(token: string): string | undefined {
  if (token.length > MAX_LENGTH)
    return `the token has ${token.length} characters, more than ${MAX_LENGTH}`;
  if (!/^[\x21-\x7e]+$/.test(token)) return 'the text is not a token';
  const expiresAtMs = expiryOf(token) ?? Infinity;
  return expiresAtMs > Date.now()
    ? undefined
    : `the token expired at ${new Date(Math.max(0, expiresAtMs)).toISOString()}`;
}

const OPTION = 'kafka.sasl.oauth.clientAssertion';

/**
 * Returns a client assertion: the text itself, or an assertion signed with the private key in it.
 * @throws SecurityError, never with the text
 */
export function clientAssertion(text: string, clientId: string, endpoint: string): string {
  if (!text.includes('-----BEGIN')) return usableToken(text, OPTION);
  const { alg, key } = signingKey(text);
  const nowS = Math.floor(Date.now() / 1_000);
  const claims = { iss: clientId, sub: clientId, aud: endpoint, jti: randomUUID(), iat: nowS };
  const parts = [
    { alg, typ: 'JWT' },
    { ...claims, exp: nowS + ASSERTION_S },
  ];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const signature = sign('sha256', Buffer.from(signed.join('.')), {
    key,
    dsaEncoding: 'ieee-p1363',
  });
  return [...signed, signature.toString('base64url')].join('.');
}

function signingKey(text: string): { readonly alg: string; readonly key: KeyObject } {
  try {
    const key = privateKeyIn(text);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
    if (type === 'rsa') return { alg: 'RS256', key };
    if (details?.namedCurve === 'prime256v1') return { alg: 'ES256', key };
    throw new Error(`its key is ${details?.namedCurve ?? type}, but must be RSA or EC P-256`);
  } catch (error) {
    throw new SecurityError(`${OPTION}: ${(error as Error).message}`, {
      retriable: true,
    });
  }
}
