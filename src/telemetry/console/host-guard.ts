/**
 * Who may ask. A page of another site can have the browser of somebody on this machine ask us: by a name of its own that it lets point to
 * us (DNS rebinding), or openly, across sites. Both are told by headers that no page can choose.
 */
import type { IncomingHttpHeaders } from 'node:http';

/** @returns why the request is refused, for the one who asked */
export function refusal(listenHost: string, headers: IncomingHttpHeaders): string | undefined {
  const { host } = headers;
  if (isLoopback(listenHost) && host !== undefined && !namesUs(host, listenHost))
    return 'the console listens on this machine only, and answers only to its names: open it by localhost or 127.0.0.1; behind a proxy, let that send one of them as Host';
  return undefined;
}

/** Whether a script of another site asks; a link that somebody follows is no script. */
export function isForeignScript(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

function namesUs(host: string, listenHost: string): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d+)?$/
    .exec(host.toLowerCase())?.[1]
    ?.replace(/^\[|\]$/g, '');
  return name !== undefined && (name === listenHost.toLowerCase() || isLoopback(name));
}

function isLoopback(name: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/i.test(name);
}
