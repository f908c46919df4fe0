/** Which requests go through a proxy: what the environment says (HTTPS_PROXY, HTTP_PROXY, NO_PROXY), or the configuration. */
import { isIP } from 'node:net';
import { addressSet, contains, problemWithCidr } from './address-ranges.ts';
import {
  type HostPattern,
  hostOf,
  isLoopbackHost,
  matchesHost,
  parseHostPattern,
} from './host-pattern.ts';

export interface ProxyRules {
  /** http(s) address of the proxy for https, and for http. Without a user. */
  readonly https?: URL | undefined;
  readonly http?: URL | undefined;
  /** `user:password`, asked for each connection. Each proxy that has none gets none. */
  readonly credentials?: {
    readonly https?: Credentials | undefined;
    readonly http?: Credentials | undefined;
  };
  /** Hosts that are reached without it, as NO_PROXY writes them. */
  readonly noProxy: readonly string[];
}

type Credentials = () => Promise<string>;

export interface ProxyServer {
  readonly url: URL;
  readonly credentials: Credentials | undefined;
}

/** undefined: without a proxy. */
export type ProxyFor = (target: URL) => ProxyServer | undefined;

/** `environment`: HTTPS_PROXY, HTTP_PROXY and NO_PROXY. An address is for http and https alike. */
export type ProxySetting =
  | 'environment'
  | 'none'
  | {
      /** http:// or https:// address, without a user. */
      readonly url: string;
      /** `user:password`, or where to get it for each connection. */
      readonly credentials?: string | (() => string | Promise<string>);
      /** What is reached without it, as NO_PROXY writes it. */
      readonly noProxy?: readonly string[];
    };

/** @throws TypeError that does not show what was written: it may hold a password. */
export function proxyRules(
  setting: ProxySetting,
  env: Readonly<Record<string, string | undefined>>,
): ProxyRules {
  if (setting === 'none') return { noProxy: [] };
  if (setting === 'environment') return proxyFromEnvironment(env);
  const url = parseProxyUrl(setting.url);
  if (typeof url === 'string') throw new TypeError(`the address of the proxy: ${url}`);
  if (url.username !== '' || url.password !== '')
    throw new TypeError('the address of the proxy: user and password go into its credentials');
  const { credentials, noProxy = [] } = setting;
  const current =
    credentials === undefined
      ? undefined
      : async () => (typeof credentials === 'string' ? credentials : await credentials());
  return { https: url, http: url, credentials: { https: current, http: current }, noProxy };
}

/**
 * As curl and Go read it: the lower-case name wins; a proxy without scheme is an http one; in a CGI process HTTP_PROXY is a
 * header that anyone can send.
 * @throws TypeError that names the variable, never its value: it may hold a password.
 */
export function proxyFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): ProxyRules {
  const read = (name: string): { url?: URL; credentials?: Credentials } => {
    const written = env[name.toLowerCase()] || env[name];
    if (written === undefined || written === '') return {};
    const url = parseProxyUrl(written);
    if (typeof url === 'string') throw new TypeError(`the environment variable ${name}: ${url}`);
    return withoutUser(url, name);
  };
  const https = read('HTTPS_PROXY');
  const http = env.REQUEST_METHOD === undefined ? read('HTTP_PROXY') : {};
  return {
    https: https.url,
    http: http.url,
    credentials: { https: https.credentials, http: http.credentials },
    noProxy: (env.no_proxy || env.NO_PROXY || '').split(/[\s,]+/).filter((entry) => entry !== ''),
  };
}

/** @returns what is wrong with it, as a text. */
export function parseProxyUrl(written: string): URL | string {
  const url = URL.parse(written.includes('://') ? written : `http://${written}`);
  if (url === null || url.hostname === '') return 'not the address of a proxy';
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return 'a proxy is reached by http:// or https://, nothing else';
  return url;
}

function withoutUser(url: URL, name: string): { url: URL; credentials?: Credentials } {
  if (url.username === '' && url.password === '') return { url };
  let credentials: string;
  try {
    credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw new TypeError(
      `the environment variable ${name}: user and password must be escaped (%25 for %)`,
    );
  }
  const plain = new URL(url);
  plain.username = '';
  plain.password = '';
  return { url: plain, credentials: async () => credentials };
}

/** This machine is never reached through a proxy. */
export function proxyChooser({ https, http, credentials, noProxy }: ProxyRules): ProxyFor {
  if (https === undefined && http === undefined) return () => undefined;
  const direct = exceptions(noProxy);
  return (target) => {
    const secure = target.protocol === 'https:';
    const url = secure ? https : http;
    if (url === undefined || isLoopbackHost(target) || direct(target)) return undefined;
    return { url, credentials: secure ? credentials?.https : credentials?.http };
  };
}

/** `example.com` and `.example.com` mean everything below too, `*` every host; a range means addresses written as such. */
function exceptions(noProxy: readonly string[]): (target: URL) => boolean {
  if (noProxy.includes('*')) return () => true;
  const networks = addressSet(noProxy.filter((entry) => problemWithCidr(entry) === undefined));
  const patterns = noProxy.flatMap((entry): HostPattern[] => {
    const pattern = parseHostPattern(entry.replace(/^\*?\./, ''));
    // What nobody can read is passed over, as every other program does that reads the variable.
    if (typeof pattern === 'string') return [];
    const below = { ...pattern, below: true };
    return entry.startsWith('*.') ? [below] : [pattern, below];
  });
  return (target) => {
    const host = hostOf(target);
    return matchesHost(patterns, target) || (isIP(host) !== 0 && contains(networks, host));
  };
}
