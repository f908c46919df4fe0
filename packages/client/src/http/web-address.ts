/** External addresses. Parsed without `new URL`, whose error contains the address. */

import { isIP } from 'node:net';
import { err, ok, type Result } from '../base/result.ts';

/** Parses an absolute http(s) address, or one relative to `base`. Returns undefined for any other text. */
export function parseWebAddress(text: string, base?: URL): URL | undefined {
  const url = URL.parse(text, base);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

export const MAX_REDIRECTS = 3;

/** Returns whether a status requires the same request at another address. 303 requires a different request. */
export function isRedirect(status: number): boolean {
  return [301, 302, 307, 308].includes(status);
}

/** Returns the next address, or the problem in words that continue "upload at host/path …". */
export function redirectTarget(from: URL, location: string | undefined): Result<URL> {
  const next = location === undefined ? undefined : parseWebAddress(location, from);
  return next === undefined ? err('redirects without a valid target') : ok(next);
}

/** Returns whether a redirect would send encrypted data unencrypted. */
export function leavesHttps(from: URL, next: URL): boolean {
  return from.protocol === 'https:' && next.protocol === 'http:';
}

interface HostPattern {
  /** Lower case, without a trailing dot; IPv6 without brackets. */
  readonly host: string;
  /** True for all subdomains of the host (`*.`). */
  readonly below: boolean;
  /** undefined means any port. */
  readonly port: string | undefined;
}

/** Parses a host as in the configuration: `files.example.com`, `*.example.com`, also with `:port`. */
export function parseHostPattern(text: string): Result<HostPattern> {
  if (/[/?#@\s\\]/.test(text)) return err('a host name alone, without scheme, path or user');
  const parts =
    isIP(text) === 6 ? [text, '', text] : /^(\*\.)?(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text);
  const [, wildcard = '', host = '', port] = parts ?? [];
  if (host.includes('*')) {
    return err('a star stands only at the beginning, for everything below: *.example.com');
  }
  if (host.startsWith('.')) return err('everything below a domain is written *.example.com');
  const bare = host.replace(/^\[|\]$/g, '');
  // The URL parser decides about names, so that patterns and addresses agree.
  const url = bare === '' ? null : URL.parse(`http://${bracketed(bare)}/`);
  if (url === null) return err('not a host name or an IP address');
  const name = hostOf(url);
  if (wildcard !== '' && isIP(name) !== 0) {
    return err('a star stands before a domain, not before an IP address');
  }
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) {
    return err('the port is from 1 to 65535');
  }
  return ok({ host: name, below: wildcard !== '', port });
}

/** @throws TypeError for a text that is not a pattern */
export function hostPatterns(texts: readonly string[]): HostPattern[] {
  return texts.map((text) => {
    const pattern = parseHostPattern(text);
    if (pattern.ok) return pattern.value;
    throw new TypeError(`"${text}" in a list of hosts: ${pattern.error}`);
  });
}

/** Returns whether one of the patterns matches the host of an address. */
export function matchesHost(patterns: readonly HostPattern[], url: URL): boolean {
  const host = hostOf(url);
  const urlPort = url.port || (url.protocol === 'https:' ? '443' : '80');
  return patterns.some(
    (pattern) =>
      (pattern.port ?? urlPort) === urlPort &&
      (pattern.below ? host.endsWith(`.${pattern.host}`) : host === pattern.host),
  );
}

/** Returns the host of an address in normal form: lower case, without brackets and trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Returns a host as in addresses: IPv6 in brackets. */
export function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/** Returns whether an address means this machine, without a name lookup. */
export function isLoopbackHost(url: URL): boolean {
  const host = hostOf(url);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Returns whether requests to an address would cross a network unencrypted although no pattern allows it. */
export function isUnencrypted(address: string, allowed: readonly string[] = []): boolean {
  const url = URL.parse(address);
  return (
    url?.protocol === 'http:' && !isLoopbackHost(url) && !matchesHost(hostPatterns(allowed), url)
  );
}
