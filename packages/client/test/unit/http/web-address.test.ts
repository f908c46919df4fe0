import assert from 'node:assert/strict';
import test from 'node:test';
import { isRedirect, leavesHttps, redirectTarget } from '../../../src/http/web-address.ts';

const from = new URL('https://a.example/x/y?sig=1');

function redirected(location: string | undefined): string {
  const target = redirectTarget(from, location);
  return target.ok ? target.value.href : target.error;
}

test('301, 302, 307 and 308 mean the same request elsewhere; no other status does', () => {
  const redirects = Array.from({ length: 500 }, (_, index) => index + 100).filter(isRedirect);
  assert.deepEqual(redirects, [301, 302, 307, 308]);
});

test('a location is taken relative to the address that it came from', () => {
  const cases: [string, string][] = [
    ['z?q=2', 'https://a.example/x/z?q=2'],
    ['/z', 'https://a.example/z'],
    ['//b.example/z', 'https://b.example/z'],
    ['https://b.example/z?sig=2', 'https://b.example/z?sig=2'],
  ];
  for (const [location, expected] of cases) assert.equal(redirected(location), expected);
});

test('https is never left for http; http may go either way', () => {
  const [https, http] = [new URL('https://a.example'), new URL('http://a.example')];
  assert.deepEqual(
    [
      leavesHttps(https, http),
      leavesHttps(http, https),
      leavesHttps(http, http),
      leavesHttps(https, https),
    ],
    [true, false, false, false],
  );
});

test('a location that is missing, broken or of another scheme leads nowhere', () => {
  for (const location of [undefined, 'http://[', 'ftp://a.example', 'data:,x', 'javascript:0']) {
    assert.match(redirected(location), /without saying where/);
  }
});
