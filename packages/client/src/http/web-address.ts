/** Addresses from outside. They are not parsed with `new URL`, whose error message contains the address. */

import { isIP } from 'node:net';
import { err, ok, type Result } from '../base/result.ts';

/** Parses an absolute http(s) address, or one relative to `base`. Returns undefined for any other string. */
export function parseWebAddress(text: string, base?: URL): URL | undefined {
  const url = URL.parse(text, base);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

export const MAX_REDIRECTS = 3;

/** Returns true for a redirect that keeps the request. 303 requires a different request. */
export function isRedirect(status: number): boolean {
  return [301, 302, 307, 308].includes(status);
}

/** Returns the next address, or the problem in words that can follow "upload at host/path". */
export function redirectTarget(from: URL, location: string | undefined): Result<URL> {
  const next = location === undefined ? undefined : parseWebAddress(location, from);
  return next === undefined ? err('redirects without a valid target') : ok(next);
}

/** Returns true if a redirect would send encrypted data unencrypted. */
export function leavesHttps(from: URL, next: URL): boolean {
  return from.protocol === 'https:' && next.protocol === 'http:';
}

interface HostPattern {
  /** Host in lower case, without a trailing dot, and IPv6 without brackets. */
  readonly host: string;
  /** True for all subdomains of the host (written `*.`). */
  readonly below: boolean;
  /** Port, or undefined for any port. */
  readonly port: string | undefined;
}

/** Parses a host pattern of a configuration: `files.example.com` or `*.example.com`, optionally with `:port`. */
export function parseHostPattern(text: string): Result<HostPattern> {
  if (/[/?#@\s\\]/.test(text)) return err('a host name alone, without scheme, path or user');
  const parts =
    isIP(text) === 6 ? [text, '', text] : /^(\*\.)?(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text);
  const [, wildcard = '', host = '', port] = parts ?? [];
  if (host.includes('*')) {
    return err(
      'a star is allowed only at the beginning: *.example.com stands for all hosts below example.com',
    );
  }
  if (host.startsWith('.')) return err('for all hosts below a domain, write *.example.com');
  const bare = host.replace(/^\[|\]$/g, '');
  // Uses the URL parser for names, so that patterns and addresses are treated alike.
  const url = bare === '' ? null : URL.parse(`http://${bracketed(bare)}/`);
  if (url === null) return err('not a host name or an IP address');
  const name = hostOf(url);
  if (wildcard !== '' && isIP(name) !== 0) {
    return err('a star is allowed before a domain, but not before an IP address');
  }
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) {
    return err('the port must be from 1 to 65535');
  }
  return ok({ host: name, below: wildcard !== '', port });
}

/** @throws TypeError for a string that is not a pattern */
export function hostPatterns(texts: readonly string[]): HostPattern[] {
  return texts.map((text) => {
    const pattern = parseHostPattern(text);
    if (pattern.ok) return pattern.value;
    throw new TypeError(`"${text}" in a list of hosts: ${pattern.error}`);
  });
}

/** Returns true if a pattern matches the host of an address. */
export function matchesHost(patterns: readonly HostPattern[], url: URL): boolean {
  const host = hostOf(url);
  const urlPort = url.port || (url.protocol === 'https:' ? '443' : '80');
  return patterns.some(
    (pattern) =>
      (pattern.port ?? urlPort) === urlPort &&
      (pattern.below ? host.endsWith(`.${pattern.host}`) : host === pattern.host),
  );
}

/** Returns an address's host in normal form: lower case, without brackets and trailing dot. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Returns a host in the form used in addresses: IPv6 in brackets. */
export function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/** Returns true if an address is this machine. Does not look up names. */
export function isLoopbackHost(url: URL): boolean {
  const host = hostOf(url);
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Returns true if requests to an address would cross a network unencrypted and no pattern allows that. */
export function isUnencrypted(address: string, allowed: readonly string[] = []): boolean {
  const url = URL.parse(address);
  return (
    url?.protocol === 'http:' && !isLoopbackHost(url) && !matchesHost(hostPatterns(allowed), url)
  );
}
