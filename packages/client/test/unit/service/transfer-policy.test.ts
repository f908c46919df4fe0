import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hostPatterns, matchesHost } from '../../../src/http/web-address.ts';
import { type TransferRules, transferPolicy } from '../../../src/service/transfer-policy.ts';

const SERVICE = 'https://review.example.com';
const policy = (rules: Partial<TransferRules> = {}, baseUrl = SERVICE) =>
  transferPolicy({ hosts: [], allowHttp: [], allowPrivate: [], ...rules }, new URL(baseUrl));
const objection = (url: string, rules?: Partial<TransferRules>, baseUrl?: string) =>
  policy(rules, baseUrl).objection(new URL(url));

test('without a list every host is allowed by https, with a list only its hosts', () => {
  assert.equal(objection('https://bucket.s3.amazonaws.com/key?X-Amz-Signature=1'), undefined);
  const hosts = ['files.example.com', '*.s3.amazonaws.com', 'minio.example.com:9000'];
  for (const url of [
    'https://files.example.com/',
    'https://FILES.example.com./',
    'https://b.s3.amazonaws.com/',
    'https://minio.example.com:9000/',
  ]) {
    assert.equal(objection(url, { hosts }), undefined, url);
  }
  for (const url of [
    'https://example.com/',
    'https://x.files.example.com/',
    'https://s3.amazonaws.com/',
    'https://evils3.amazonaws.com/',
    'https://b.s3.amazonaws.com.evil.example/',
    'https://files.example.com@evil.example/',
    'https://minio.example.com/',
    'https://minio.example.com:9001/',
  ]) {
    assert.match(objection(url, { hosts }) ?? '', /not one of service\.transfer\.hosts/, url);
  }
});

test('a pattern matches its host or all subdomains of it, and no similar names', () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  const name = fc
    .array(label, { minLength: 1, maxLength: 3 })
    .map((labels) => `${labels.join('.')}.example`);
  fc.assert(
    fc.property(name, label, (host, more) => {
      const exact = hostPatterns([host]);
      const below = hostPatterns([`*.${host}`]);
      const url = (text: string) => new URL(`https://${text}/`);
      assert.deepEqual(
        [matchesHost(exact, url(host)), matchesHost(below, url(host))],
        [true, false],
      );
      assert.deepEqual(
        [matchesHost(exact, url(`${more}.${host}`)), matchesHost(below, url(`${more}.${host}`))],
        [false, true],
      );
      for (const other of [`${more}${host}`, `${host}.${more}`]) {
        assert.deepEqual(
          [matchesHost(exact, url(other)), matchesHost(below, url(other))],
          [false, false],
          other,
        );
      }
    }),
  );
});

test('http is allowed for hosts in its list, and for this machine', () => {
  const inTheClear = /only allowed for the hosts of service\.allowHttp/;
  assert.match(objection('http://files.example.com/') ?? '', inTheClear);
  assert.match(
    objection('http://files.example.com/', { hosts: ['files.example.com'] }) ?? '',
    inTheClear,
  );
  assert.equal(
    objection('http://files.example.com/', { allowHttp: ['files.example.com'] }),
    undefined,
  );
  assert.equal(objection('http://127.0.0.1:9/', {}, 'http://127.0.0.1:8090'), undefined);
});

test('an address that is not public is refused in every notation, unless its network is allowed', () => {
  for (const host of [
    '10.1.2.3',
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '[::ffff:169.254.169.254]',
    '169.254.169.254',
    '0.0.0.0',
    '[fd00::1]',
  ]) {
    assert.match(
      objection(`https://${host}/`) ?? '',
      /not public: .*service\.transfer\.allowPrivate/,
      host,
    );
  }
  assert.equal(objection('https://10.1.2.3/', { allowPrivate: ['10.0.0.0/8'] }), undefined);
  assert.equal(objection('https://[::ffff:10.1.2.3]/', { allowPrivate: ['10.1.2.3'] }), undefined);
  assert.notEqual(objection('https://11.1.2.3/', { hosts: ['10.0.0.1'] }), undefined);
});

test('a storage on this machine is allowed only for a service on this machine', () => {
  for (const baseUrl of ['http://127.0.0.1:8090', 'http://localhost:8090', 'http://[::1]:8090']) {
    assert.equal(objection('http://127.0.0.1:8090/x', {}, baseUrl), undefined);
    assert.equal(policy({}, baseUrl).allowsAddress('localhost', '::1'), true);
    assert.equal(policy({}, baseUrl).allowsAddress('storage', '10.0.0.1'), false);
  }
  // A service at a private address does not allow its network for transfers. That requires an explicit setting.
  assert.equal(policy({}, 'https://10.0.0.1').allowsAddress('10.0.0.2', '10.0.0.2'), false);
  assert.equal(policy({}, 'https://10.0.0.1').allowsAddress('localhost', '127.0.0.1'), false);
});

test('an allowed name may resolve to a private network, but never to an address of cloud credentials', () => {
  const named = policy({ allowPrivate: ['minio.corp', '*.storage.corp'] });
  for (const address of ['10.0.0.1', '192.168.1.1', 'fd00::1', '127.0.0.1', '8.8.8.8']) {
    assert.ok(named.allowsAddress('minio.corp', address), address);
    assert.ok(named.allowsAddress('a.storage.corp', address), address);
  }
  for (const address of [
    '169.254.169.254',
    'fe80::1',
    'fd00:ec2::254',
    'fd00:ec2::23',
    '0.0.0.0',
    '224.0.0.1',
    '::ffff:169.254.169.254',
  ]) {
    assert.ok(!named.allowsAddress('minio.corp', address), address);
  }
  assert.ok(!named.allowsAddress('other.corp', '10.0.0.1'));
  assert.ok(policy({ allowPrivate: ['169.254.0.0/16'] }).allowsAddress('x', '169.254.1.1'));
});
