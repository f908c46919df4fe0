import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxyFromEnvironment } from '../../../src/http/proxy.ts';

type Env = Record<string, string>;
const chosen = (env: Env, target: string) => proxyFromEnvironment(env)(new URL(target))?.url.host;

test('https requests use the proxy, http requests do not, and the lower-case variable wins', () => {
  const env = { HTTPS_PROXY: 's.example:3128', HTTP_PROXY: 'http://other.example' };
  assert.equal(chosen(env, 'https://a.example/'), 's.example:3128');
  assert.equal(chosen(env, 'http://a.example/'), undefined);
  assert.equal(
    chosen({ ...env, https_proxy: 'http://small.example:1' }, 'https://a.example/'),
    'small.example:1',
  );
  assert.equal(chosen({ HTTPS_PROXY: '' }, 'https://a.example/'), undefined);
});

test('NO_PROXY accepts hosts with their subdomains, ports, addresses, networks, or everything', () => {
  const cases: [string, string, boolean][] = [
    ['example.com', 'https://example.com/', true],
    ['example.com', 'https://a.example.com/', true],
    ['.example.com', 'https://a.example.com/', true],
    ['*.example.com', 'https://example.com/', false],
    ['*.example.com', 'https://a.example.com/', true],
    ['example.com', 'https://badexample.com/', false],
    ['example.com:8443', 'https://example.com/', false],
    ['example.com:8443', 'https://example.com:8443/', true],
    ['a.example b.example,c.example', 'https://b.example/', true],
    ['10.0.0.0/8', 'https://10.1.2.3/', true],
    ['10.0.0.0/8', 'https://11.1.2.3/', false],
    ['EXAMPLE.com', 'https://example.com/', true],
    ['*', 'https://example.com/', true],
    ['http://[, example.com', 'https://example.com/', true],
  ];
  for (const [noProxy, target, direct] of cases) {
    for (const name of ['NO_PROXY', 'no_proxy']) {
      const env = { HTTPS_PROXY: 'http://p.example', [name]: noProxy };
      assert.equal(chosen(env, target) === undefined, direct, `${noProxy} ${target}`);
    }
  }
});

test('this machine is never reached through a proxy', () => {
  const env = { HTTPS_PROXY: 'http://p.example' };
  for (const target of ['https://127.0.0.1:9/', 'https://localhost/', 'https://[::1]:9/'])
    assert.equal(chosen(env, target), undefined);
});

test('user and password of the address become credentials and are removed from it', () => {
  const proxyFor = proxyFromEnvironment({ HTTPS_PROXY: 'http://me:p%40ss@p.example:1' });
  const proxy = proxyFor(new URL('https://a.example/'));
  assert.equal(proxy?.url.href, 'http://p.example:1/');
  assert.equal(proxy?.credentials, 'me:p@ss');
});

test('the error of an invalid proxy names its variable, but not its value', () => {
  for (const value of ['http://[hunter2', 'socks5://hunter2:1', 'http://me:%ZZhunter2@p.example']) {
    assert.throws(
      () => proxyFromEnvironment({ HTTPS_PROXY: value }),
      (error: Error) =>
        error instanceof TypeError &&
        /HTTPS_PROXY/.test(error.message) &&
        !error.message.includes('hunter2'),
    );
  }
});
