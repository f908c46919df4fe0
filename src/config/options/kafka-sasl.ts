import type { PemPath } from '../load/read-file.ts';
import { isLoopback } from '../loopback.ts';
import { group, value } from '../option.ts';
import type { Secret } from '../secret.ts';
import { Refusal } from '../units.ts';
import { choice, duration, flag, optionalSecret, optionalText, textMap } from '../values.ts';
import { pemFiles } from './kafka-tls.ts';

export const SASL_MECHANISMS = [
  'none',
  'plain',
  'scram-sha-256',
  'scram-sha-512',
  'oauthbearer',
] as const;

/** `kafka.sasl`. */
export function kafkaSaslOptions(readSecret: (raw: unknown) => Secret | Refusal, readPem: PemPath) {
  return group('Who this client is, for brokers that want a login (SASL).', {
    mechanism: choice({
      help: 'How to log in; the brokers must offer it.',
      of: SASL_MECHANISMS,
      fallback: 'none',
    }),
    username: optionalText({
      help: 'Of plain and scram.',
      allowed: 'a text',
      check: textObjection,
    }),
    password: optionalSecret({
      help: 'Of plain and scram. A file is read again when it changes: each new login uses what is there then.',
      read: readSecret,
    }),
    insecureWithoutTls: flag({
      help: 'Lets plain and oauthbearer send their secret over connections that are not encrypted, beyond this machine; warned of at each start.',
      fallback: false,
    }),
    oauth: group(
      'Of oauthbearer: where tokens come from (the client credentials grant of OAuth 2.0).',
      {
        tokenEndpoint: value<string>({
          help: 'Address that gives tokens; on this machine http will do.',
          allowed: 'an https:// address without query, fragment or user',
          fallback: '',
          parse: (raw) => (raw === '' ? '' : parseEndpoint(raw)),
        }),
        clientId: optionalText({
          help: 'Of this client, at the token endpoint.',
          allowed: 'a text',
          check: textObjection,
        }),
        clientSecret: optionalSecret({
          help: 'Of this client, at the token endpoint. A file is read again when it changes.',
          read: readSecret,
        }),
        scope: optionalText({
          help: 'What to ask for.',
          allowed: 'a text, scopes with spaces between them',
          check: textObjection,
        }),
        audience: optionalText({
          help: 'Whom the token is for, where the endpoint wants it.',
          allowed: 'a text',
          check: textObjection,
        }),
        parameters: textMap({
          help: 'Further parameters of the request, such as {resource: kafka}.',
          allowed: 'a mapping of texts',
          check: (name) =>
            RESERVED.has(name) ? 'this has an option of its own, or is fixed' : undefined,
        }),
        extensions: textMap({
          help: 'SASL extensions that go to the brokers with the token, such as {logicalCluster: lkc-1, identityPoolId: pool-1}.',
          allowed: 'a mapping of texts with names of letters',
          check: (name, text) =>
            name === 'auth' || !/^[A-Za-z]+$/.test(name)
              ? 'a name has letters only, and auth is taken'
              : /^[\x20-\x7e\t\r\n]*$/.test(text)
                ? undefined
                : 'only printable ASCII',
        }),
        ca: pemFiles(
          "Certificates of who signed the token endpoint's certificate. An empty list takes the public authorities that Node.js knows.",
          readPem,
        ),
        timeout: duration({
          help: 'Of one request for a token.',
          fallback: '10s',
          min: '10ms',
          max: '5m',
        }),
      },
    ),
  });
}

const RESERVED = new Set(['grant_type', 'client_id', 'client_secret', 'scope', 'audience']);

const textObjection = (text: string): string | undefined =>
  /\p{Cc}/u.test(text) ? 'it holds a line break or another control character' : undefined;

function parseEndpoint(raw: unknown): string | Refusal {
  const url = typeof raw === 'string' ? URL.parse(raw) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return new Refusal('');
  if (url.username !== '' || url.password !== '')
    return new Refusal('credentials go into clientId and clientSecret');
  if (url.search !== '') return new Refusal('what is in the query goes into parameters');
  if (url.hash !== '') return new Refusal('');
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    return new Refusal('http would show the client secret to the network');
  return url.href;
}
