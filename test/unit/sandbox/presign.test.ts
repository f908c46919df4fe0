import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RefusedRequest } from '../../../src/sandbox/http/answer.ts';
import { presign, verifyPresigned } from '../../../src/sandbox/storage/presign.ts';

const SIGNED_AT_MS = Date.UTC(2026, 10, 21, 9, 30);
const ADDRESS = {
  origin: 'http://files.test:81',
  path: '/storage/uploads/a.csv',
  signedAtMs: SIGNED_AT_MS,
  validForMs: 3_600_000,
};

function check(url: string, secret = 'secret', nowMs = SIGNED_AT_MS, headers = {}, method = 'PUT') {
  const { pathname, search, host } = new URL(url);
  const request = {
    method,
    path: pathname,
    query: new URLSearchParams(search),
    headers: { host, 'content-type': 'text/csv', ...headers },
  };
  try {
    verifyPresigned(secret, request, nowMs);
    return 'accepted';
  } catch (error) {
    assert.ok(error instanceof RefusedRequest);
    return `${error.answer.status} ${/<Code>(.*)<\/Code>/.exec(String(error.answer.body))?.[1]}`;
  }
}

const put = (parameters: Record<string, string> = {}) =>
  presign('secret', { ...ADDRESS, method: 'PUT', contentType: 'text/csv', parameters });

test('an address is good from its signing to the end of its validity', () => {
  assert.equal(check(put()), 'accepted');
  assert.equal(check(put(), 'secret', SIGNED_AT_MS + 3_599_999), 'accepted');
  assert.equal(check(put(), 'secret', SIGNED_AT_MS + 3_600_000), '403 AccessDenied');
});

test('an address holds for its secret, method, path, host and Content-Type only', () => {
  assert.equal(check(put(), 'other'), '403 SignatureDoesNotMatch');
  assert.equal(check(put(), 'secret', SIGNED_AT_MS, {}, 'GET'), '403 SignatureDoesNotMatch');
  assert.equal(check(put().replace('a.csv', 'b.csv')), '403 SignatureDoesNotMatch');
  assert.equal(
    check(put(), 'secret', SIGNED_AT_MS, { host: 'elsewhere' }),
    '403 SignatureDoesNotMatch',
  );
  for (const type of ['text/plain', 'text/csv; charset=utf-8', undefined]) {
    assert.equal(
      check(put(), 'secret', SIGNED_AT_MS, { 'content-type': type }),
      '403 SignatureDoesNotMatch',
    );
  }
});

test('an address without all of its parameters is refused', () => {
  assert.equal(check('http://files.test:81/storage/uploads/a.csv'), '403 AccessDenied');
  for (const name of ['X-Amz-Algorithm', 'X-Amz-Date', 'X-Amz-Expires']) {
    const url = new URL(put());
    url.searchParams.delete(name);
    const answer = check(url.href);
    assert.ok(answer.startsWith('4'), `${name}: ${answer}`);
  }
});

test('any metadata parameters can be signed, and any change to them breaks the signature', () => {
  const parameters = fc.dictionary(
    fc.stringMatching(/^x-amz-meta-[a-z_]{1,8}$/),
    fc.string({ unit: 'grapheme' }),
  );
  fc.assert(
    fc.property(parameters, (given) => {
      const url = put(given);
      assert.equal(check(url), 'accepted');
      assert.equal(check(`${url}&x-amz-meta-added=1`), '403 SignatureDoesNotMatch');
      for (const name of Object.keys(given)) {
        const changed = new URL(url);
        changed.searchParams.set(name, `${given[name]}!`);
        assert.equal(check(changed.href), '403 SignatureDoesNotMatch');
      }
    }),
  );
});
