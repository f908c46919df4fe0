/** Where the service is. Every call there carries the API key. */
import { hostOf, hostPatterns, isLoopbackHost, matchesHost } from '../http/host-pattern.ts';
import { parseWebAddress } from '../http/presigned-address.ts';

/**
 * @throws TypeError when it is no http(s) address, holds credentials, a query or a fragment, or would carry the key in the clear.
 * @param allowHttp hosts (host-pattern.ts) that may be talked to by http
 */
export function checkedBaseUrl(baseUrl: string, allowHttp: readonly string[]): URL {
  const url = parseWebAddress(baseUrl);
  if (url === undefined)
    throw new TypeError('base_url must be an absolute http:// or https:// address');
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('base_url must hold no credentials, query or fragment');
  }
  if (sendsKeyInTheClear(url, allowHttp)) {
    throw new TypeError(
      `base_url must be https: by http the API key travels in the clear. If that is meant, allow it by name: allowHttp with ${hostOf(url)}`,
    );
  }
  return url;
}

export function sendsKeyInTheClear(url: URL, allowHttp: readonly string[]): boolean {
  return (
    url.protocol === 'http:' && !isLoopbackHost(url) && !matchesHost(hostPatterns(allowHttp), url)
  );
}
