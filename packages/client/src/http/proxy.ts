/** Proxies of requests, from the environment: HTTPS_PROXY, HTTP_PROXY, NO_PROXY. */
import { isIP } from 'node:net';
import { err, ok, type Result } from '../base/result.ts';
import { addressSet, contains, problemWithCidr } from './address-ranges.ts';
import { hostOf, isLoopbackHost, matchesHost, parseHostPattern } from './web-address.ts';

export interface ProxyServer {
  /** http(s) address, without a user. */
  readonly url: URL;
  /** `user:password`. */
  readonly credentials?: string | undefined;
}

/** Proxies for https and for http addresses. */
export interface ProxyRules {
  readonly https?: ProxyServer | undefined;
  readonly http?: ProxyServer | undefined;
  /** Hosts that are reached without a proxy, in the notation of NO_PROXY. */
  readonly noProxy: readonly string[];
}

/** undefined: without a proxy. */
export type ProxyFor = (target: URL) => ProxyServer | undefined;

type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables like curl and Go: the lower-case name wins; a proxy without scheme is an http
 * one; in a CGI process HTTP_PROXY is a header that anyone can send.
 * @throws TypeError that names the variable, never its value: it may hold a password
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

/** Proxy of an address; user and password, percent-encoded in it, become its credentials. */
function parseProxy(written: string): Result<ProxyServer> {
  const url = URL.parse(written.includes('://') ? written : `http://${written}`);
  if (url === null || url.hostname === '') return err('not the address of a proxy');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return err('a proxy is reached by http:// or https://, nothing else');
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

/** This machine is never reached through a proxy. */
export function proxyChooser({ https, http, noProxy }: ProxyRules): ProxyFor {
  const isDirect = exceptions(noProxy);
  return (target) => {
    const proxy = target.protocol === 'https:' ? https : http;
    return proxy && !isLoopbackHost(target) && !isDirect(target) ? proxy : undefined;
  };
}

/** `example.com` and `.example.com` include everything below, `*` every host; ranges, addresses. */
function exceptions(noProxy: readonly string[]): (target: URL) => boolean {
  if (noProxy.includes('*')) return () => true;
  const networks = addressSet(noProxy.filter((entry) => problemWithCidr(entry) === undefined));
  const patterns = noProxy.flatMap((entry) => {
    const pattern = parseHostPattern(entry.replace(/^\*?\./, ''));
    // Unreadable entries are ignored, as every other program does that reads the variable.
    if (!pattern.ok) return [];
    const below = { ...pattern.value, below: true };
    return entry.startsWith('*.') ? [below] : [pattern.value, below];
  });
  return (target) => {
    const host = hostOf(target);
    return matchesHost(patterns, target) || (isIP(host) !== 0 && contains(networks, host));
  };
}
