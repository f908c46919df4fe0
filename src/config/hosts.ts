/** Hosts, networks and addresses in options. */
import { problemWithCidr } from '../../packages/client/src/http/address-ranges.ts';
import { parseHostPattern } from '../../packages/client/src/http/web-address.ts';
import type { JsonSchema } from './json-schema.ts';
import { OptionRefusal } from './option.ts';

export const HOSTS = 'hosts (files.example.com, *.example.com, also with :port)';

/** Returns the reason why a string is not a host pattern, or undefined if it is one. */
export function hostObjection(text: string): string | undefined {
  const pattern = parseHostPattern(text);
  return pattern.ok ? undefined : pattern.error;
}

/** Returns the reason why a string is neither a host without a port nor a network, or undefined if it is one. */
export function networkObjection(text: string): string | undefined {
  if (text.includes('/')) return problemWithCidr(text);
  const pattern = parseHostPattern(text);
  if (!pattern.ok) return pattern.error;
  return pattern.value.port === undefined ? undefined : 'without a port';
}

/**
 * Parses an http or https address that has no query, fragment or user.
 * @param credentials name of the options for user and password, for the message
 * @throws OptionRefusal
 */
export function parseAddress(raw: unknown, credentials: string): URL {
  const url = typeof raw === 'string' ? URL.parse(raw) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw new OptionRefusal('');
  if (url.username !== '' || url.password !== '')
    throw new OptionRefusal(`user and password belong in ${credentials}`);
  if (url.search !== '' || url.hash !== '')
    throw new OptionRefusal('it must have no query or fragment');
  return url;
}

/** Schema of the addresses that `parseAddress` accepts. */
export const ADDRESS: JsonSchema = {
  type: 'string',
  pattern: '^[\\x00-\\x20]*[hH][tT][tT][pP][sS]?:',
};

export const withoutSlash = ({ href }: URL): string => href.replace(/\/+$/, '');
