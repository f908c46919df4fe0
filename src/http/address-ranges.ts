/**
 * What kind of network an IP address belongs to, by IANA's registries of special-purpose addresses. An address that the outside
 * named must be `public` to be connected to, unless the configuration says otherwise (docs/service-security.md).
 */
import { BlockList, isIP, isIPv4 } from 'node:net';

export type AddressRange =
  | 'public'
  /** This machine. */
  | 'loopback'
  /** Networks of a company, a cluster, a carrier: RFC 1918, RFC 6598, unique local IPv6. */
  | 'private'
  /** Link-local, where clouds answer with credentials, and their other fixed addresses for that. */
  | 'link_local'
  /** Unspecified, multicast, broadcast, documentation, tunnels that hide an IPv4 address, and whatever nobody has assigned. */
  | 'reserved';

const IPV4: Readonly<Record<Exclude<AddressRange, 'public'>, readonly string[]>> = {
  loopback: ['127.0.0.0/8'],
  private: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16'],
  // 168.63.129.16 is Azure's own, in the middle of public addresses; 192.0.0.192 Oracle's; 100.100.100.200 Alibaba's.
  link_local: ['169.254.0.0/16', '168.63.129.16/32', '192.0.0.192/32', '100.100.100.200/32'],
  reserved: [
    '0.0.0.0/8',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.88.99.0/24',
    '198.18.0.0/15',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '224.0.0.0/4',
    '240.0.0.0/4',
  ],
};

const IPV6: Readonly<Record<Exclude<AddressRange, 'public'>, readonly string[]>> = {
  loopback: ['::1/128'],
  private: ['fc00::/7'],
  // fd00:ec2:: is Amazon's (::254 for instances, ::23 for pods), fd20:ce::254 Google's, fd00:42::42 Scaleway's.
  link_local: ['fe80::/10', 'fd00:ec2::/32', 'fd20:ce::254/128', 'fd00:42::42/128'],
  // Teredo (in 2001::/23) and 6to4 (2002::/16) hide an IPv4 address.
  reserved: ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
};

/** Everything public in IPv6. */
const GLOBAL_UNICAST = '2000::/3';
/** IPv4 in IPv6: mapped addresses, and what a NAT64 translates. Both are judged by the IPv4 address. */
const EMBEDDING = ['::ffff:', '64:ff9b::'] as const;

/** Most telling first: an address of a cloud's credentials may lie within a private range. */
const ORDER = ['link_local', 'loopback', 'private', 'reserved'] as const;
const LISTS = ORDER.map((range) => ({ range, list: addressSet([...IPV4[range], ...IPV6[range]]) }));
const PUBLIC_IPV6 = addressSet([GLOBAL_UNICAST, '0.0.0.0/0']);

/** @throws TypeError when the text is no IP address. */
export function rangeOf(address: string): AddressRange {
  const plain = withoutZone(address);
  if (isIP(plain) === 0) throw new TypeError('not an IP address');
  const special = LISTS.find(({ list }) => contains(list, plain));
  if (special !== undefined) return special.range;
  return isIPv4(plain) || contains(PUBLIC_IPV6, plain) ? 'public' : 'reserved';
}

/** Why a text is neither an IP address nor a range of them, such as `10.0.0.0/8`; undefined when it is. */
export function problemWithCidr(text: string): string | undefined {
  const [address = '', prefix, ...more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || more.length > 0)
    return 'not an IP address or a range such as 10.0.0.0/8';
  if (prefix === undefined) return undefined;
  const bits = family === 4 ? 32 : 128;
  return /^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= bits
    ? undefined
    : `the number behind / is from 0 to ${bits}`;
}

/** Addresses and ranges, IPv4 ones also as they are embedded in IPv6. */
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

/** Whether an address, in any notation, is in a set. */
export function contains(set: BlockList, address: string): boolean {
  const plain = withoutZone(address);
  return set.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6');
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}
