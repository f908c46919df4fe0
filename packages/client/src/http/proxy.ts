/** Proxies for requests, configured in the environment: HTTPS_PROXY, HTTP_PROXY, NO_PROXY. */
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

/** Proxies for https addresses and for http addresses. */
export interface ProxyRules {
  readonly https?: ProxyServer | undefined;
  readonly http?: ProxyServer | undefined;
  /** Hosts to reach directly, in the notation of NO_PROXY. */
  readonly noProxy: readonly string[];
}

/** Returns the proxy for an address, or undefined for a direct connection. */
export type ProxyFor = (target: URL) => ProxyServer | undefined;

type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables like curl and Go: lower-case names have precedence, and a proxy without a
 * scheme is an http proxy. HTTP_PROXY is ignored in a CGI process, where any client can set it with
 * a header.
 * @throws TypeError with the name of the variable, but never its value, which may contain a
 * password
 */
export function proxyFromEnvironment(env: ProxyEnvironment): ProxyRules {
  const read = (name: string): ProxyServer | undefined => {
    const written = env[name.toLowerCase()] || env[name];
    if (!written) return undefined;
    const proxy = parseProxy(written);
    if (!proxy.ok) throw new TypeError(`the environment variable ${name}: ${proxy.error}`);
    return proxy.value;
  };
  return {
    https: read('HTTPS_PROXY'),
    http: env.REQUEST_METHOD === undefined ? read('HTTP_PROXY') : undefined,
    noProxy: (env.no_proxy || env.NO_PROXY || '').split(/[\s,]+/).filter(Boolean),
  };
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

/** Returns a function that chooses the proxy. This machine is never reached through a proxy. */
export function proxyChooser({ https, http, noProxy }: ProxyRules): ProxyFor {
  const isDirect = exceptions(noProxy);
  return (target) => {
    const proxy = target.protocol === 'https:' ? https : http;
    return proxy && !isLoopbackHost(target) && !isDirect(target) ? proxy : undefined;
  };
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
