import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AddressRange,
  addressSet,
  contains,
  rangeOf,
} from '../../../src/http/address-ranges.ts';

const octets = fc.tuple(...[0, 1, 2, 3].map(() => fc.integer({ min: 0, max: 255 })));

/**
 * Returns the range by IANA's registries, calculated without the table of ranges so that its mistakes are not
 * repeated.
 */
function expected([a = 0, b = 0, c = 0, d = 0]: readonly number[]): AddressRange {
  const is = (...parts: number[]) => parts.every((part, index) => part === [a, b, c, d][index]);
  if (is(169, 254) || is(168, 63, 129, 16) || is(192, 0, 0, 192) || is(100, 100, 100, 200))
    return 'link_local';
  if (a === 127) return 'loopback';
  if (
    a === 10 ||
    (a === 100 && b >= 64 && b < 128) ||
    (a === 172 && b >= 16 && b < 32) ||
    is(192, 168)
  )
    return 'private';
  const documentation = is(192, 0, 2) || is(198, 51, 100) || is(203, 0, 113);
  const other = is(192, 0, 0) || is(192, 88, 99) || (a === 198 && (b === 18 || b === 19));
  return a === 0 || a >= 224 || documentation || other ? 'reserved' : 'public';
}

/** Addresses near the edges of ranges, where mistakes are likely. */
const special = fc.constantFrom(
  ...[
    '9.255.255.255',
    '10.0.0.0',
    '11.0.0.0',
    '100.63.255.255',
    '100.64.0.0',
    '100.127.255.255',
    '100.128.0.0',
  ],
  ...[
    '126.255.255.255',
    '127.0.0.1',
    '128.0.0.0',
    '169.253.255.255',
    '169.254.169.254',
    '169.255.0.0',
  ],
  ...[
    '172.15.255.255',
    '172.16.0.0',
    '172.31.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.168.0.0',
    '192.169.0.0',
  ],
  ...[
    '198.17.255.255',
    '198.18.0.0',
    '198.20.0.0',
    '223.255.255.255',
    '224.0.0.0',
    '255.255.255.255',
    '0.0.0.0',
    '1.0.0.0',
  ],
);
const ipv4 = fc.oneof(
  octets,
  special.map((text) => text.split('.').map(Number)),
);

test('every IPv4 address has the range of the registries, also when embedded in IPv6', () => {
  fc.assert(
    fc.property(ipv4, (parts) => {
      const text = parts.join('.');
      const [high, low] = [0, 2].map((at) =>
        (((parts[at] ?? 0) << 8) | (parts[at + 1] ?? 0)).toString(16),
      );
      for (const form of [
        text,
        `::ffff:${text}`,
        `::ffff:${high}:${low}`,
        `0:0:0:0:0:FFFF:${high}:${low}`,
        `64:ff9b::${high}:${low}`,
      ]) {
        assert.equal(rangeOf(form), expected(parts), form);
      }
    }),
    { numRuns: 500 },
  );
});

test('IPv6 addresses outside global unicast are not public', () => {
  const cases: [string, AddressRange][] = [
    ['2606:4700::1111', 'public'],
    ['2a00:1450:4001::200e', 'public'],
    ['::', 'reserved'],
    ['::1', 'loopback'],
    ['::127.0.0.1', 'reserved'],
    ['64:ff9b:1::1', 'reserved'],
    ['100::1', 'reserved'],
    ['2001::1', 'reserved'],
    ['2001:db8::1', 'reserved'],
    ['2002:7f00:1::', 'reserved'],
    ['3fff::1', 'reserved'],
    ['5f00::1', 'reserved'],
    ['fc00::1', 'private'],
    ['fdff::1', 'private'],
    ['fd00:ec2::254', 'link_local'],
    ['fd00:ec2::23', 'link_local'],
    ['fd00:ec3::23', 'private'],
    ['fd00:42::42', 'link_local'],
    ['fe80::1', 'link_local'],
    ['fe80::1%eth0', 'link_local'],
    ['fec0::1', 'reserved'],
    ['ff02::1', 'reserved'],
  ];
  for (const [address, range] of cases) assert.equal(rangeOf(address), range, address);
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const url = new URL(`http://[${address.includes('.') ? '::1' : address}]/`);
      assert.ok(
        rangeOf(address) !== 'public' ||
          /^\[(2|3|::ffff:|64:ff9b::)/.test(url.hostname) ||
          address.includes('.'),
        address,
      );
    }),
  );
});

test('a set contains exactly the addresses of its ranges, in every notation', () => {
  fc.assert(
    fc.property(octets, fc.integer({ min: 0, max: 32 }), octets, (network, bits, address) => {
      const value = (parts: readonly number[]) => parts.reduce((sum, part) => sum * 256 + part, 0);
      const size = 2 ** (32 - bits);
      const within = Math.floor(value(network) / size) === Math.floor(value(address) / size);
      const set = addressSet([`${network.join('.')}/${bits}`]);
      assert.equal(contains(set, address.join('.')), within);
      assert.equal(contains(set, `::ffff:${address.join('.')}`), within);
      assert.ok(contains(set, network.join('.')));
    }),
  );
  assert.ok(contains(addressSet(['fd12::/16']), 'fd12:3::1'));
  assert.ok(!contains(addressSet(['fd12::/16']), 'fd13::1'));
});
