/**
 * Logins, as kafkajs's authentication providers (src/broker/saslAuthenticator): with the password or token of the moment, and
 * with errors that tell a broker that refuses from one that went away. kafkajs takes both for a refusal and gives up.
 */
import { scramProvider } from '../kafkajs/patches.ts';
import type { SaslOptions } from './options.ts';
import { SecurityError } from './security-error.ts';
import type { TokenSource } from './token-source.ts';

/** A message, framed by its length as kafkajs wants it, and what comes back, framed alike. */
interface Exchange {
  readonly request: { encode(): Promise<Buffer> };
  readonly response: { decode(raw: Buffer): Promise<Buffer>; parse(data: Buffer): Promise<Buffer> };
}
type SaslAuthenticate = (exchange: Exchange) => Promise<Buffer>;

export interface ProviderArguments {
  readonly host: string;
  readonly port: number;
  readonly logger: object;
  readonly saslAuthenticate: SaslAuthenticate;
}
type Provider = (args: ProviderArguments) => { authenticate(): Promise<void> };

/** What kafkajs takes as its option `sasl`. */
export interface KafkaJsSasl {
  readonly mechanism: string;
  readonly authenticationProvider: Provider;
}

export function saslLogin(options: SaslOptions, tokens: TokenSource | undefined): KafkaJsSasl {
  const { mechanism } = options;
  return {
    mechanism,
    authenticationProvider: (args) => ({
      async authenticate() {
        let cause: unknown;
        const saslAuthenticate: SaslAuthenticate = async (exchange) => {
          try {
            return await args.saslAuthenticate(exchange);
          } catch (error) {
            cause = error;
            throw error;
          }
        };
        try {
          if (options.mechanism === 'oauthbearer')
            await bearToken(options.extensions, tokens as TokenSource, saslAuthenticate);
          else if (options.mechanism === 'plain') await sayPassword(options, saslAuthenticate);
          else await proveHavingPassword(options, { ...args, saslAuthenticate });
        } catch (error) {
          throw loginFailure(
            options,
            `${args.host}:${args.port}`,
            error instanceof RefusedToken ? error : (cause ?? error),
          );
        }
      },
    }),
  };
}

type PasswordLogin = Exclude<SaslOptions, { mechanism: 'oauthbearer' }>;

async function sayPassword(
  { username, password }: PasswordLogin,
  saslAuthenticate: SaslAuthenticate,
): Promise<void> {
  await saslAuthenticate(exchange(`\0${username}\0${await password()}`));
}

/** kafkajs's own SCRAM, with a silent logger: it logs what is thrown anyway. */
async function proveHavingPassword(
  { mechanism, username, password }: PasswordLogin,
  args: ProviderArguments,
): Promise<void> {
  const hash = mechanism === 'scram-sha-256' ? 256 : 512;
  const provider = scramProvider<Provider>(hash, {
    mechanism,
    username,
    password: await password(),
  });
  let first = true;
  const saslAuthenticate: SaslAuthenticate = async (exchange) => {
    const answer = await args.saslAuthenticate(exchange);
    if (first) checkChallenge(answer);
    first = false;
    return answer;
  };
  await provider({ ...args, saslAuthenticate, logger: SILENT }).authenticate();
}

/** Rounds of hashing that a broker may ask for; Kafka's own limit is far below. More would occupy this process for minutes. */
const MAX_ROUNDS = 1_000_000;
const NO_SCRAM = 'it does not answer as SCRAM says';

/** kafkajs looks for too few rounds only. @param challenge r, s and i of RFC 5802, section 5.1, as kafkajs parsed them */
function checkChallenge(challenge: unknown): void {
  const { r, s, i } = challenge as Record<string, unknown>;
  if (typeof r !== 'string' || typeof s !== 'string' || !/^\d{1,15}$/.test(String(i)))
    throw new Error(NO_SCRAM);
  if (Number(i) > MAX_ROUNDS)
    throw new Error(`it asks for ${Number(i)} rounds of hashing, more than any honest one`);
}

const silent = (): undefined => undefined;
const SILENT = { debug: silent, info: silent, warn: silent, error: silent };

/**
 * RFC 7628. A broker that does not take the token answers with why, and waits for one more byte before it refuses (section
 * 3.2.3); kafkajs takes that answer for a yes, and the next request fails without a reason.
 */
async function bearToken(
  extensions: Readonly<Record<string, string>>,
  tokens: TokenSource,
  saslAuthenticate: SaslAuthenticate,
): Promise<void> {
  const token = await tokens.token();
  const pairs = Object.entries(extensions).map(([name, value]) => `${name}=${value}\x01`);
  let why = '';
  try {
    const answer = await saslAuthenticate(
      exchange(`n,,\x01auth=Bearer ${token}\x01${pairs.join('')}\x01`),
    );
    if (answer.length === 0) return;
    // {"status":"invalid_token",…}: a word, and nothing that could repeat the token.
    why = /"status"\s*:\s*"([a-z_]{1,40})"/.exec(answer.toString('utf8'))?.[1] ?? '';
    await saslAuthenticate(exchange('\x01'));
  } catch (error) {
    if (isRefusal(error)) tokens.invalidate(token);
    throw why === '' || !isRefusal(error) ? error : new RefusedToken(why);
  }
  tokens.invalidate(token);
  throw new RefusedToken(why);
}

class RefusedToken extends Error {
  readonly type = 'SASL_AUTHENTICATION_FAILED';
}

function exchange(text: string): Exchange {
  const payload = Buffer.from(text, 'utf8');
  const framed = Buffer.alloc(4 + payload.length);
  framed.writeInt32BE(payload.length);
  payload.copy(framed, 4);
  return {
    request: { encode: async () => framed },
    response: { decode: async (raw) => raw.subarray(4), parse: async (data) => data },
  };
}

const isRefusal = (error: unknown): boolean =>
  (error as { type?: unknown }).type === 'SASL_AUTHENTICATION_FAILED';

function loginFailure(options: SaslOptions, broker: string, error: unknown): unknown {
  if (isRefusal(error)) {
    if (options.mechanism === 'oauthbearer') {
      const why =
        error instanceof RefusedToken && error.message !== '' ? ` (${error.message})` : '';
      return new SecurityError(
        `the broker ${broker} does not take the token${why}: check kafka.sasl.oauth.scope and kafka.sasl.oauth.audience, kafka.sasl.oauth.extensions, and whose tokens the brokers take`,
        { cause: error },
      );
    }
    const { mechanism, username } = options;
    return new SecurityError(
      `the broker ${broker} refuses the login of ${username} with ${mechanism}: check kafka.sasl.username and kafka.sasl.password, and that this user was made for ${mechanism}`,
      { cause: error },
    );
  }
  // A broker that went away in the middle: kafkajs tries again.
  if (error instanceof SecurityError || (error as { retriable?: unknown }).retriable === true)
    return error;
  const why = reasonOf(error, options);
  return new SecurityError(
    `the login at the broker ${broker} with ${options.mechanism} failed: ${why}`,
    { cause: error },
  );
}

function reasonOf(error: unknown, { mechanism }: SaslOptions): string {
  // kafkajs fails over what it cannot parse.
  if (error instanceof TypeError && mechanism.startsWith('scram')) return NO_SCRAM;
  const why = error instanceof Error ? error.message : String(error);
  return why.replace(/^(SASL SCRAM SHA\d+ authentication failed: )+/, '');
}
