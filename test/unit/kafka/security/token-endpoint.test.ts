import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { TokenOptions } from '../../../../src/kafka/security/options.ts';
import { SecurityError } from '../../../../src/kafka/security/security-error.ts';
import { requestToken } from '../../../../src/kafka/security/token-endpoint.ts';
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

const options = (more: Partial<TokenOptions> = {}): TokenOptions => ({
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
  more: Partial<TokenOptions> = {},
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
    const more = { scope: 'kafka read', parameters: { audience: 'brokers' } };
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
    server.answer = () => ({ status: 200, body: JSON.stringify({ access_token: 'opaque' }) });
    assert.equal((await requestToken(options(), never)).lifetimeMs, 60_000);
  });

  const echo = (error: string) => JSON.stringify({ error, error_description: `echoed ${SECRET}` });
  const answers: readonly (readonly [string, number, string, boolean, RegExp])[] = [
    [
      'a wrong secret',
      401,
      echo('invalid_client'),
      false,
      /^the token endpoint 127\.0\.0\.1:\d+ issued no token .*\(401 invalid_client\): check kafka\.sasl\.oauth\.clientId and kafka\.sasl\.oauth\.clientSecret$/,
    ],
    ['a wrong scope', 400, echo('invalid_scope'), false, /check kafka\.sasl\.oauth\.scope/],
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
