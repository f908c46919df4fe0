/**
 * Guard against other sites. A page of another site can make the browser of a local user send
 * requests here: under a name that it resolves to this machine (DNS rebinding), or openly, across
 * sites. Both show in headers that no page can set.
 */
import type { IncomingHttpHeaders } from 'node:http';

/**
 * @param bound address that `listenHost` resolved to
 * @returns the reason to refuse a request, for its sender; undefined if it is allowed
 */
export function refusal(
  listenHost: string,
  bound: string,
  { host }: IncomingHttpHeaders,
): string | undefined {
  if (!isLoopback(bound) || host === undefined) return undefined;
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/
    .exec(host.toLowerCase())?.[1]
    ?.replace(/^\[|\]$/g, '');
  if (name !== undefined && (name === listenHost.toLowerCase() || isLoopback(name)))
    return undefined;
  return 'http.host is a loopback address: Host must be localhost or 127.0.0.1, also from a proxy';
}

/** True if a script of another site sent the request; a followed link does not count. */
export function isForeignScript(headers: IncomingHttpHeaders): boolean {
  return ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']));
}

function isLoopback(name: string): boolean {
  return /^(localhost|(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/i.test(name);
}
