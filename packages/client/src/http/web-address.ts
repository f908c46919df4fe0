/** Addresses from outside. Parsed without `new URL`, whose error holds the address. */
import { err, ok, type Result } from '../base/result.ts';

/** undefined unless the text is an absolute http(s) address, or one relative to `base`. */
export function parseWebAddress(text: string, base?: URL): URL | undefined {
  const url = URL.parse(text, base);
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined;
}

export const MAX_REDIRECTS = 3;

/** Returns whether a status demands the same request elsewhere; 303 demands another one. */
export function isRedirect(status: number): boolean {
  return [301, 302, 307, 308].includes(status);
}

/** The next address, or what is wrong, continuing "upload at host/path …". */
export function redirectTarget(from: URL, location: string | undefined): Result<URL> {
  const next = location === undefined ? undefined : parseWebAddress(location, from);
  return next === undefined ? err('redirects without saying where to go') : ok(next);
}

/** Returns whether a redirect would send in the clear what was encrypted. */
export function leavesHttps(from: URL, next: URL): boolean {
  return from.protocol === 'https:' && next.protocol === 'http:';
}
