/** Where a redirect of a storage leads, if it may be followed. */
import { isWebAddress } from './presigned-address.ts';

export const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 307, 308]);

/** Whether the status asks for the same request elsewhere. 303 does not: it asks for a GET of something else. */
export function isRedirect(status: number): boolean {
  return REDIRECTS.has(status);
}

/** The next address, or why there is none, continuing "upload at host/path …". */
export function redirectTarget(from: URL, location: string | undefined): URL | string {
  const next = location === undefined ? null : URL.parse(location, from);
  if (next === null || !isWebAddress(next)) return 'redirects without saying where to go';
  return next;
}

/** What a redirect must not lead to, whatever may be talked to by http otherwise. */
export function leavesHttps(from: URL, next: URL): boolean {
  return from.protocol === 'https:' && next.protocol === 'http:';
}
