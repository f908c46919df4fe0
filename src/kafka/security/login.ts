/**
 * Logins, in the form of kafkajs's authentication providers. They use the current password or
 * token. They distinguish a rejected login from a lost connection, while kafkajs reports both as
 * rejected.
 */
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { SaslOptions } from './options.ts';
import { SecurityError } from './security-error.ts';
import type { TokenSource } from './token-source.ts';

/** A message and its response, both with the length prefix that kafkajs requires. */
interface SaslExchange {
  readonly request: { encode(): Promise<Buffer> };
  readonly response: {
    decode(raw: Buffer): Promise<Buffer>;
    parse(data: Buffer): Promise<Buffer>;
  };
}

interface ProviderArguments {
  readonly host: string;
  readonly port: number;
  readonly saslAuthenticate: (exchange: SaslExchange) => Promise<Buffer>;
}

/** kafkajs's option `sasl`. */
export interface KafkaJsSasl {
  readonly mechanism: string;
  readonly authenticationProvider: (args: ProviderArguments) => { authenticate(): Promise<void> };
}

/** Sends a message. @returns the broker's response */
type Send = (message: string) => Promise<string>;

export function saslLogin(options: SaslOptions, tokens: TokenSource | undefined): KafkaJsSasl {
  return {
    mechanism: options.mechanism,
    authenticationProvider: ({ host, port, saslAuthenticate }) => ({
      async authenticate() {
        const send: Send = async (message) => String(await saslAuthenticate(exchange(message)));
        try {
          if (options.mechanism === 'oauthbearer')
            await sendToken(options.extensions, tokens as TokenSource, send);
          else if (options.mechanism === 'plain')
            await send(`\0${options.username}\0${await options.password()}`);
          else await proveScram(options, send);
        } catch (error) {
          throw loginFailure(options, `${host}:${port}`, error);
        }
      },
    }),
  };
}

type PasswordLogin = Exclude<SaslOptions, { mechanism: 'oauthbearer' }>;

/** Minimum of RFC 7677. More rounds than the maximum would occupy this process for minutes. */
const MIN_ROUNDS = 4_096;
const MAX_ROUNDS = 1_000_000;
const derive = promisify(pbkdf2);

/** Logs in with SCRAM (RFC 5802). */
async function proveScram(login: PasswordLogin, send: Send): Promise<void> {
  const hash = login.mechanism === 'scram-sha-256' ? 'sha256' : 'sha512';
  const hmac = (key: Buffer, text: string) => createHmac(hash, key).update(text).digest();
  const name = login.username.replaceAll('=', '=3D').replaceAll(',', '=2C');
  const nonce = randomBytes(24).toString('base64url');
  const first = `n=${name},r=${nonce}`;
  const challenge = await send(`n,,${first}`);
  const [, serverNonce, salt, rounds] =
    /^r=([^,]+),s=([A-Za-z0-9+/=]+),i=(\d{1,15})(?:,|$)/.exec(challenge) ?? [];
  if (serverNonce === undefined || salt === undefined)
    throw new Error('the response is not a SCRAM challenge');
  if (!serverNonce.startsWith(nonce))
    throw new Error("the broker's nonce does not begin with the client's nonce");
  if (Number(rounds) < MIN_ROUNDS || Number(rounds) > MAX_ROUNDS)
    throw new Error(
      `the broker requires ${rounds} rounds of hashing, which is not between ${MIN_ROUNDS} and ${MAX_ROUNDS}`,
    );

  const clientHash = createHash(hash);
  const password = await login.password();
  const salted = await derive(
    password,
    Buffer.from(salt, 'base64'),
    Number(rounds),
    hash === 'sha256' ? 32 : 64,
    hash,
  );
  const last = `c=biws,r=${serverNonce}`;
  const transcript = `${first},${challenge},${last}`;
  const clientKey = hmac(salted, 'Client Key');
  const signature = hmac(clientHash.update(clientKey).digest(), transcript);
  const proof = signature.map((byte, at) => byte ^ (clientKey[at] as number));
  const answer = await send(`${last},p=${Buffer.from(proof).toString('base64')}`);
  const expected = hmac(hmac(salted, 'Server Key'), transcript).toString('base64');
  if (answer.split(',')[0] !== `v=${expected}`)
    throw new Error("the broker's signature does not match the password");
}

/**
 * Logs in with a token (RFC 7628). To reject the token, a broker first sends the reason. It fails
 * the login only after the client has sent one more byte (section 3.2.3).
 */
async function sendToken(
  extensions: Readonly<Record<string, string>>,
  tokens: TokenSource,
  send: Send,
): Promise<void> {
  const token = await tokens.token();
  const pairs = Object.entries(extensions).map(([name, value]) => `${name}=${value}\x01`);
  let reason = '';
  try {
    const answer = await send(`n,,\x01auth=Bearer ${token}\x01${pairs.join('')}\x01`);
    if (answer === '') return;
    // Keeps only the status word of a response such as {"status":"invalid_token",…}, so that
    // nothing repeats the token.
    reason = /"status"\s*:\s*"([a-z_]{1,40})"/.exec(answer)?.[1] ?? '';
    await send('\x01');
    throw new TokenRefusal(reason);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    tokens.invalidate(token);
    throw new TokenRefusal(reason);
  }
}

const REFUSED = 'SASL_AUTHENTICATION_FAILED';

class TokenRefusal extends Error {
  readonly type = REFUSED;
}

const isRefusal = (error: unknown): boolean => (error as { type?: unknown }).type === REFUSED;

function exchange(message: string): SaslExchange {
  const payload = Buffer.from(message);
  const length = Buffer.alloc(4);
  length.writeInt32BE(payload.length);
  const framed = Buffer.concat([length, payload]);
  return {
    request: { encode: async () => framed },
    response: { decode: async (raw) => raw.subarray(4), parse: async (data) => data },
  };
}

function loginFailure(options: SaslOptions, broker: string, error: unknown): unknown {
  const { mechanism } = options;
  const { message, retriable } = error as Error & { readonly retriable?: unknown };
  if (!isRefusal(error)) {
    // Already explained, or retried by kafkajs because the broker closed the connection.
    if (error instanceof SecurityError || retriable === true) return error;
    const text = `the login at the broker ${broker} with ${mechanism} failed: ${message}`;
    return new SecurityError(text, { cause: error });
  }
  const reason = message === '' ? '' : ` (${message})`;
  return new SecurityError(
    options.mechanism === 'oauthbearer'
      ? `the broker ${broker} does not accept the token${reason}: ${options.tokens.remedy}`
      : `the broker ${broker} rejects the login of ${options.username} with ${mechanism}: check kafka.sasl.username, kafka.sasl.password, and that the user exists for ${mechanism}`,
    { cause: error },
  );
}
