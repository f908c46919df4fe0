/** Hosts as a configuration lists them: `files.example.com`, `*.example.com`, each with `:port` if it matters. */
import { isIP } from 'node:net';

export interface HostPattern {
  /** In lower case, without a last dot; an IPv6 address without brackets. With `*.`: everything below. */
  readonly host: string;
  readonly below: boolean;
  /** undefined: any port. */
  readonly port: string | undefined;
}

/** @returns what is wrong with it, as a text, when it is none. */
export function parseHostPattern(text: string): HostPattern | string {
  if (/[/?#@\s\\]/.test(text)) return 'a host name alone, without scheme, path or user';
  const whole =
    isIP(text) === 6 ? [text, '', text] : /^(\*\.)?(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text);
  const [, wildcard = '', host = '', port] = whole ?? [];
  if (host.includes('*'))
    return 'a star stands only at the beginning, for everything below: *.example.com';
  if (host.startsWith('.')) return 'everything below a domain is written *.example.com';
  const bare = host.replace(/^\[|\]$/g, '');
  // The parser of addresses decides what a name is, so that a pattern and an address agree.
  const url = bare === '' ? null : URL.parse(`http://${isIP(bare) === 6 ? `[${bare}]` : bare}/`);
  if (url === null) return 'not a host name or an IP address';
  const name = hostOf(url);
  if (wildcard !== '' && isIP(name) !== 0)
    return 'a star stands before a domain, not before an IP address';
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    return 'the port is from 1 to 65535';
  return { host: name, below: wildcard !== '', port };
}

/** @throws TypeError when one of them is none: configurations are checked before. */
export function hostPatterns(texts: readonly string[]): HostPattern[] {
  return texts.map((text) => {
    const pattern = parseHostPattern(text);
    if (typeof pattern === 'string')
      throw new TypeError(`"${text}" in a list of hosts: ${pattern}`);
    return pattern;
  });
}

/** Whether one of the patterns means the host of an address. */
export function matchesHost(patterns: readonly HostPattern[], url: URL): boolean {
  const host = hostOf(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return patterns.some(
    (pattern) =>
      (pattern.port === undefined || pattern.port === port) &&
      (pattern.below ? host.endsWith(`.${pattern.host}`) : host === pattern.host),
  );
}

/** The host of an address in one spelling: lower case, without brackets, without a last dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Whether an address names this machine by itself, whatever names resolve to. */
export function isLoopbackHost(url: URL): boolean {
  const host = hostOf(url);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
