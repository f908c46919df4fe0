import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { SecurityError } from '../../../../src/kafka/security/security-error.ts';
import { requestToken, type TokenEndpoint } from '../../../../src/kafka/security/token-endpoint.ts';
import {
  tokenAnswer,
  tokenServer,
  unsignedToken,
} from '../../../integration/kafka/token-server.ts';
import { directHttp } from '../../../support/direct-http.ts';

const SECRET = 'secret:with ü';
const server = await tokenServer(() => tokenAnswer('t', 1_000));
after(() => server.close());
const never = new AbortController().signal;

const options = (more: Partial<TokenEndpoint> = {}): TokenEndpoint => ({
  endpoint: server.url,
  clientId: 'me&you',
  clientSecret: async () => SECRET,
  parameters: {},
  open: () => directHttp(),
  timeoutMs: 5_000,
  ...more,
});

async function failureOf(
  answer: { status: number; body: string } | 'hang',
  more: Partial<TokenEndpoint> = {},
): Promise<SecurityError> {
  server.answer = () => answer;
  const error = await requestToken(options(more), never).catch((reason: unknown) => reason);
  assert.ok(error instanceof SecurityError, String(error));
  assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /secret:with|echoed/);
  return error;
}

describe('a request for a token', () => {
  it('uses the client credentials grant, with the login encoded as in RFC 6749', async () => {
    server.answer = () => tokenAnswer('token-1', 3_600_000);
    const more = { parameters: { scope: 'kafka read', audience: 'brokers' } };
    assert.deepEqual(await requestToken(options(more), never), {
      value: 'token-1',
      lifetimeMs: 3_600_000,
    });
    const last = server.requests.at(-1);
    assert.deepEqual(Object.fromEntries(last?.form ?? []), {
      grant_type: 'client_credentials',
      scope: 'kafka read',
      audience: 'brokers',
    });
    assert.equal(last?.login, 'me%26you:secret%3Awith+%C3%BC');
  });

  it('takes the lifetime from the token if the endpoint does not return it', async () => {
    const token = unsignedToken('me', 100_000);
    server.answer = () => ({ status: 200, body: JSON.stringify({ access_token: token }) });
    const { lifetimeMs } = await requestToken(options(), never);
    assert.ok(lifetimeMs > 95_000 && lifetimeMs <= 100_000, String(lifetimeMs));
    for (const expires_in of [undefined, 0, {}, { valueOf: 1, toString: 1 }]) {
      const body = JSON.stringify({ access_token: 'opaque', expires_in });
      server.answer = () => ({ status: 200, body });
      assert.equal((await requestToken(options(), never)).lifetimeMs, 60_000);
    }
  });

  const echo = (error: string) => JSON.stringify({ error, error_description: `echoed ${SECRET}` });
  const answers: readonly (readonly [string, number, string, boolean, RegExp])[] = [
    [
      'a wrong secret',
      401,
      echo('invalid_client'),
      false,
      /^the token endpoint 127\.0\.0\.1:\d+ issued no token .*\(401 invalid_client\): check kafka\.sasl\.oauth: clientId, and clientSecret or clientAssertion$/,
    ],
    ['a wrong scope', 400, echo('invalid_scope'), false, /check kafka\.sasl\.oauth\.parameters/],
    ['another address', 404, '<html>', false, /check kafka\.sasl\.oauth\.tokenEndpoint/],
    ['a redirect', 302, '', false, /redirects are not followed/],
    ['too many requests', 429, '', true, /\(429\): retrying/],
    [
      'a failing endpoint',
      503,
      echo('echoed something that is no code'),
      true,
      /\(503\): retrying/,
    ],
    ['a response without a token', 200, '{"token":"echoed"}', false, /responded without a token/],
    ['a response that is a web page', 200, '<html>echoed', false, /responded without a token/],
  ];
  for (const [what, status, body, retriable, message] of answers)
    it(`fails with a remedy after ${what}`, async () => {
      const error = await failureOf({ status, body });
      assert.match(error.message, message);
      assert.equal(error.retriable, retriable);
    });
});

describe('a client assertion', () => {
  const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const form = async (content: string) => {
    server.answer = () => tokenAnswer('token-1', 60_000);
    const login = { clientSecret: undefined, clientAssertion: async () => content };
    await requestToken(options(login), never);
    const { form, login: basic } = server.requests.at(-1) ?? assert.fail();
    assert.equal(basic, '');
    return Object.fromEntries(form);
  };
  const refused = (content: string) =>
    failureOf('hang', { clientSecret: undefined, clientAssertion: async () => content });

  for (const [alg, { privateKey }] of [
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2_048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ] as const)
    it(`is signed with the private key (${alg}), and replaces the client secret`, async () => {
      const fields = await form(pem(privateKey));
      const { client_assertion: assertion = '', ...others } = fields;
      assert.deepEqual(others, {
        grant_type: 'client_credentials',
        client_id: 'me&you',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      });
      const [header = '', claims = '', signature = ''] = assertion.split('.');
      const parsed = [header, claims].map((part) =>
        JSON.parse(String(Buffer.from(part, 'base64url'))),
      );
      const { jti, iat, exp, ...rest } = parsed[1];
      assert.deepEqual(parsed[0], { alg, typ: 'JWT' });
      assert.deepEqual(rest, { iss: 'me&you', sub: 'me&you', aud: server.url });
      assert.equal(exp - iat, 60);
      assert.ok(Math.abs(iat - Date.now() / 1_000) < 60 && jti.length > 20);
      const key = { key: createPublicKey(privateKey), dsaEncoding: 'ieee-p1363' } as const;
      const signed = Buffer.from(`${header}.${claims}`);
      assert.ok(verify('sha256', signed, key, Buffer.from(signature, 'base64url')));
      assert.notEqual((await form(pem(privateKey))).client_assertion, assertion);
    });

  it('is sent unchanged if it is already signed, until it expires', async () => {
    const assertion = unsignedToken('me', 60_000);
    assert.equal((await form(`${assertion}\n`)).client_assertion, assertion);
    const error = await refused(unsignedToken('me', -60_000));
    assert.match(error.message, /expired at 20.*; replace the value of .*\.clientAssertion$/);
    assert.ok(error.retriable);
  });

  it('is refused with the command that decrypts the key, or with the kinds of keys', async () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    assert.match((await refused(pem(privateKey))).message, /key is ed25519, but must be/);
    const encrypted = privateKey
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
      .toString();
    assert.match((await refused(encrypted)).message, /clientAssertion: .*openssl pkey -in/);
    assert.match((await refused(encrypted.slice(0, 90))).message, /no complete PEM private key/);
    assert.match((await refused('two words')).message, /the text is not a token/);
  });
});
