/** Proxy for https requests, configured in the environment: HTTPS_PROXY, NO_PROXY. */
import { isIP } from 'node:net';
import { err, ok, type Result } from '../base/result.ts';
import { addressSet, contains, problemWithCidr } from './address-ranges.ts';
import { hostOf, isLoopbackHost, matchesHost, parseHostPattern } from './web-address.ts';

export interface ProxyServer {
  /** Address with http or https, without credentials. */
  readonly url: URL;
  /** Credentials in the form `user:password`. */
  readonly credentials?: string | undefined;
}

/** Returns the proxy for an address, or undefined for a direct connection. */
export type ProxyFor = (target: URL) => ProxyServer | undefined;

/** Connects directly, regardless of the environment. */
export const NO_PROXY: ProxyFor = () => undefined;

/**
 * Reads the variables like curl and Go: lower-case names have precedence, and a proxy without a
 * scheme is an http proxy. This machine and http addresses are never reached through a proxy.
 * @throws TypeError with the name of the variable, but never its value, which may contain a
 * password
 */
export function proxyFromEnvironment(env: Readonly<Record<string, string | undefined>>): ProxyFor {
  const written = env.https_proxy || env.HTTPS_PROXY;
  if (!written) return NO_PROXY;
  const proxy = parseProxy(written);
  if (!proxy.ok) throw new TypeError(`the environment variable HTTPS_PROXY: ${proxy.error}`);
  const isDirect = exceptions((env.no_proxy || env.NO_PROXY || '').split(/[\s,]+/).filter(Boolean));
  return (target) =>
    target.protocol === 'https:' && !isLoopbackHost(target) && !isDirect(target)
      ? proxy.value
      : undefined;
}

/** Parses a proxy's address. The percent-encoded user and password become the credentials. */
function parseProxy(written: string): Result<ProxyServer> {
  const url = URL.parse(written.includes('://') ? written : `http://${written}`);
  if (url === null || url.hostname === '') return err('not the address of a proxy');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return err('the address of a proxy must begin with http:// or https://');
  }
  const { username, password } = url;
  if (username === '' && password === '') return ok({ url });
  url.username = '';
  url.password = '';
  try {
    return ok({
      url,
      credentials: `${decodeURIComponent(username)}:${decodeURIComponent(password)}`,
    });
  } catch {
    return err('user and password must be escaped (%25 for %)');
  }
}

/** Parses NO_PROXY: `example.com` and `.example.com` include subdomains, `*` is every host. IPs and ranges work too. */
function exceptions(noProxy: readonly string[]): (target: URL) => boolean {
  if (noProxy.includes('*')) return () => true;
  const networks = addressSet(noProxy.filter((entry) => problemWithCidr(entry) === undefined));
  const patterns = noProxy.flatMap((entry) => {
    const pattern = parseHostPattern(entry.replace(/^\*?\./, ''));
    // Invalid entries are ignored, as in other programs that read NO_PROXY.
    if (!pattern.ok) return [];
    const below = { ...pattern.value, below: true };
    return entry.startsWith('*.') ? [below] : [pattern.value, below];
  });
  return (target) => {
    const host = hostOf(target);
    return matchesHost(patterns, target) || (isIP(host) !== 0 && contains(networks, host));
  };
}
