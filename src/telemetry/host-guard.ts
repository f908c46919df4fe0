/**
 * Protection against requests from other sites. A page of another site can make a local user's
 * browser send requests here: through a name that resolves to this machine (DNS rebinding), or as
 * cross-site requests. Headers that pages cannot set reveal both.
 */
import type { IncomingHttpHeaders } from 'node:http';

/**
 * @param bound address to which `listenHost` was resolved
 * @returns the reason for refusing a request, to be sent to the client, or undefined if it is
 * allowed
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
  return 'http.host is a loopback address: the Host header must be localhost or 127.0.0.1, even if the request comes from a proxy';
}

/** True if a script of another site sent the request. Following a link does not count. */
export function isForeignScript(headers: IncomingHttpHeaders): boolean {
  return ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']));
}

function isLoopback(name: string): boolean {
  return /^(localhost|(?:::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/i.test(name);
}
