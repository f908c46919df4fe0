/** Hosts and networks as options list them; src/http/host-pattern.ts takes what passes here. */
import { isIP } from 'node:net';
import { isLoopback } from './loopback.ts';

export const HOSTS =
  'a list of hosts (files.example.com, *.example.com, also with :port), or one text with commas';

/** Why a text is no host pattern; undefined when it is one. */
export function hostObjection(text: string): string | undefined {
  if (text.includes('%')) return 'no % belongs into it: an IP address is written without a zone';
  if (/^(\*\.)?\./.test(text))
    return 'a star stands at the beginning, for everything below: *.example.com';
  if (isIP(text) !== 0 || /^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/.test(text)) return ipObjection(text);
  if (/[/?#@\s\\]/.test(text)) return 'write the host alone, without scheme, path or user';
  const [, star, host = '', port] = /^(\*\.)?([^:*\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === '')
    return text.includes('*')
      ? 'a star stands at the beginning, for everything below: *.example.com'
      : 'write a host name';
  if (port !== undefined && !isPort(port)) return 'a port is a number from 1 to 65535';
  const url = URL.parse(`http://${host}/`);
  if (url === null || url.hostname === '') return 'not a host name';
  return star !== undefined && isIP(url.hostname) !== 0
    ? 'a star stands before a domain, not before an IP address'
    : undefined;
}

/** Of a list whose hosts may also be networks, and have no port. */
export function networkObjection(text: string): string | undefined {
  const [address = '', prefix, ...more] = text.split('/');
  if (prefix === undefined)
    return /:\d+$/.test(text) && isIP(text) === 0 ? 'without a port' : hostObjection(text);
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const right =
    family !== 0 &&
    !address.includes('%') &&
    more.length === 0 &&
    /^(0|[1-9]\d{0,2})$/.test(prefix);
  return right && Number(prefix) <= bits
    ? undefined
    : 'a network is written 10.0.0.0/8 or fd00::/8';
}

/** Whether what is sent to an address crosses a network in the clear, unless one of the patterns allows it. */
export function isInTheClear(url: URL, allowed: readonly string[]): boolean {
  if (url.protocol !== 'http:' || isLoopback(url.hostname.replace(/\.$/, ''))) return false;
  const host = url.hostname.replace(/\.$/, '');
  return !allowed.some((text) => {
    const [, star, name = '', port] =
      /^(\*\.)?(\[[^\]]*\]|.*?)(?::(\d{1,5}))?$/.exec(isIP(text) === 6 ? `[${text}]` : text) ?? [];
    const plain = URL.parse(`http://${name}/`)?.hostname.replace(/\.$/, '') ?? name;
    const same = star === undefined ? host === plain : host.endsWith(`.${plain}`);
    return same && (port === undefined || port === (url.port || '80'));
  });
}

function ipObjection(text: string): string | undefined {
  const [, bare, port] = /^\[(.*)\](?::(\d+))?$/.exec(text) ?? [];
  if (bare !== undefined && isIP(bare) !== 6) return 'not an IP address';
  return port !== undefined && !isPort(port) ? 'a port is a number from 1 to 65535' : undefined;
}

function isPort(text: string): boolean {
  return Number(text) >= 1 && Number(text) <= 65_535;
}
