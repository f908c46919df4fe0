/** Addresses of the service: baseUrl, and the path of the import status below it. */
import { hostOf, hostPatterns, isLoopbackHost, matchesHost } from '../http/host-pattern.ts';
import { parseWebAddress } from '../http/web-address.ts';
import { PATHS } from './contract.ts';

/**
 * Checks baseUrl. Every call there carries the API key.
 * @throws TypeError when it is no http(s) address, has credentials, a query or a fragment, or
 * would carry the key in the clear
 * @param allowHttp hosts (host-pattern.ts) that may be reached by http
 */
export function checkedBaseUrl(baseUrl: string, allowHttp: readonly string[]): URL {
  const url = parseWebAddress(baseUrl);
  if (url === undefined) {
    throw new TypeError('baseUrl must be an absolute http:// or https:// address');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('baseUrl must have no credentials, query or fragment');
  }
  const isAllowed = isLoopbackHost(url) || matchesHost(hostPatterns(allowHttp), url);
  if (url.protocol === 'http:' && !isAllowed) {
    throw new TypeError(
      `baseUrl must be https: by http the API key travels in the clear. If that is intended: allowHttp with ${hostOf(url)}`,
    );
  }
  return url;
}

/** Stands for the import's id in the path of the status check. */
export const IMPORT_ID_PLACEHOLDER = '{import_id}';

/** The interface does not show the path of the status check, so it is an option. */
export const DEFAULT_IMPORT_PATH = `${PATHS.imports}/${IMPORT_ID_PLACEHOLDER}`;

/**
 * Returns why a text is no path of the status check; undefined when it is one. The id may also
 * stand in a query.
 */
export function problemWithImportPath(template: string): string | undefined {
  if (!template.startsWith('/')) return 'must begin with a slash: it is below baseUrl';
  if (!template.includes(IMPORT_ID_PLACEHOLDER)) return `must contain ${IMPORT_ID_PLACEHOLDER}`;
  const rest = template.replaceAll(IMPORT_ID_PLACEHOLDER, '');
  if (!/^[\x21-\x7e]*$/.test(rest) || /[#{}\\]/.test(rest)) {
    return `must be printable ASCII without #, backslash and braces but those of ${IMPORT_ID_PLACEHOLDER}`;
  }
  // Escaped dot segments count too: they would leave the addresses below baseUrl.
  const steps = (template.split('?')[0] ?? '').replaceAll(/%2e/gi, '.').split('/');
  if (!steps.includes('.') && !steps.includes('..')) return undefined;
  return 'must have no dot segments (. and ..)';
}
