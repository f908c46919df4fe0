/**
 * Network ranges of IP addresses, from IANA's registries of special-purpose addresses. An
 * address that comes from outside is used for a connection only if it is `public` or the
 * configuration allows it (docs/service-security.md).
 */
import { BlockList, isIP, isIPv4 } from 'node:net';

/** Special ranges. The first match applies, because an address for cloud credentials may be in a private range. */
const SPECIAL = {
  /**
   * Link-local addresses, where clouds serve credentials, and other fixed addresses that clouds use
   * for this: Azure (168.63.129.16), Oracle (192.0.0.192), Alibaba (100.100.100.200), Amazon
   * (fd00:ec2::/32), Google (fd20:ce::254) and Scaleway (fd00:42::42).
   */
  link_local: [
    ...['169.254.0.0/16', '168.63.129.16/32', '192.0.0.192/32', '100.100.100.200/32'],
    ...['fe80::/10', 'fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128'],
  ],
  /** This machine. */
  loopback: ['127.0.0.0/8', '::1/128'],
  /** Networks of a company, cluster or carrier: RFC 1918, RFC 6598, unique local IPv6. */
  private: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  /** Unspecified, multicast, broadcast, documentation, and tunnels that hide an IPv4 address. */
  reserved: [
    ...['0.0.0.0/8', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15'],
    ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
    // Teredo (in 2001::/23) and 6to4 (2002::/16).
    ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
  ],
};

export type AddressRange = keyof typeof SPECIAL | 'public';

/** Prefixes of IPv6 addresses that contain an IPv4 address (mapped, NAT64). The IPv4 address is checked. */
const EMBEDDING = ['::ffff:', '64:ff9b::'];

const LISTS = Object.entries(SPECIAL).map(([range, cidrs]) => {
  return { range: range as AddressRange, list: addressSet(cidrs) };
});
/** Global unicast, and all of IPv4 in its form embedded in IPv6. Other IPv6 addresses are not assigned. */
const PUBLIC = addressSet(['2000::/3', '0.0.0.0/0']);

/** Returns the range of an address. @throws TypeError if the string is not an IP address */
export function rangeOf(address: string): AddressRange {
  const plain = withoutZone(address);
  if (isIP(plain) === 0) throw new TypeError('not an IP address');
  const special = LISTS.find(({ list }) => contains(list, plain));
  return special?.range ?? (contains(PUBLIC, plain) ? 'public' : 'reserved');
}

/** Returns why a string is not an IP address or a range such as `10.0.0.0/8`, or undefined if it is one. */
export function problemWithCidr(text: string): string | undefined {
  const [, address = '', prefix] = /^([^/%]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const family = isIP(address);
  if (family === 0) return 'not an IP address or a range such as 10.0.0.0/8';
  const bits = family === 4 ? 32 : 128;
  return Number(prefix ?? 0) <= bits ? undefined : `the number after / must be from 0 to ${bits}`;
}

/** Returns a set of addresses and ranges. IPv4 ones are also added in the form embedded in IPv6. */
export function addressSet(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/');
    if (isIPv4(address)) {
      const bits = Number(prefix ?? 32);
      list.addSubnet(address, bits, 'ipv4');
      for (const before of EMBEDDING) list.addSubnet(before + address, 96 + bits, 'ipv6');
    } else list.addSubnet(address, Number(prefix ?? 128), 'ipv6');
  }
  return list;
}

/** Returns true if a set contains an address, in any notation. */
export function contains(set: BlockList, address: string): boolean {
  const plain = withoutZone(address);
  return set.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}
