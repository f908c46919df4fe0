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
import { certificateAuthority } from '../../../support/certificates.ts';
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
  const withAssertion = (content: string) => ({
    clientSecret: undefined,
    clientAssertion: async () => content,
  });
  const sent = async (content: string) => {
    server.answer = () => tokenAnswer('token-1', 60_000);
    await requestToken(options(withAssertion(content)), never);
    const { form, login } = server.requests.at(-1) ?? assert.fail();
    assert.equal(login, '');
    return Object.fromEntries(form);
  };

  for (const [alg, { privateKey }] of [
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2_048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ] as const)
    it(`is signed with the private key (${alg}), and replaces the client secret`, async () => {
      const { client_assertion: assertion = '', ...others } = await sent(pem(privateKey));
      assert.deepEqual(others, {
        grant_type: 'client_credentials',
        client_id: 'me&you',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      });
      const [header = '', claims = '', signature = ''] = assertion.split('.');
      const fields = (part: string) => JSON.parse(String(Buffer.from(part, 'base64url')));
      const { jti, iat, exp, ...rest } = fields(claims);
      assert.deepEqual(fields(header), { alg, typ: 'JWT' });
      assert.deepEqual(rest, { iss: 'me&you', sub: 'me&you', aud: server.url });
      assert.ok(exp - iat === 60 && Math.abs(iat - Date.now() / 1_000) < 60 && jti !== '');
      const key = { key: createPublicKey(privateKey), dsaEncoding: 'ieee-p1363' } as const;
      const signed = Buffer.from(`${header}.${claims}`);
      assert.ok(verify('sha256', signed, key, Buffer.from(signature, 'base64url')));
    });

  it('is sent unchanged if it is already signed', async () => {
    const assertion = unsignedToken('me', 60_000);
    assert.equal((await sent(`${assertion}\n`)).client_assertion, assertion);
  });

  const encrypted = certificateAuthority('CA').encryptedKey('x');
  for (const [what, content, message] of [
    ['has expired', unsignedToken('me', -60_000), /expired at 20.*of .*\.clientAssertion$/],
    ['is of another kind', pem(generateKeyPairSync('ed25519').privateKey), /key is ed25519, but/],
    ['is encrypted', encrypted, /clientAssertion: .*openssl pkey -in/],
    ['is cut off', encrypted.slice(0, 90), /no complete PEM private key/],
  ] as const)
    it(`is refused if it ${what}`, async () => {
      const { message: text, retriable } = await failureOf('hang', withAssertion(content));
      assert.match(text, message);
      assert.ok(retriable, 'the file may be replaced');
    });
});
