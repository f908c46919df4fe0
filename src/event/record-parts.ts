/** What a record that waits keeps of its key and headers. */
import type { HeaderValue, RecordHeaders } from '../core/record.ts';

const NO_HEADERS: RecordHeaders = Object.freeze({});

/** A copy: a slice of a fetched response would keep the whole response, a megabyte, alive for as long as the item waits. */
const own = (bytes: Buffer): Buffer => Buffer.from(bytes);
const ownValue = (value: Buffer | string): Buffer | string => (typeof value === 'string' ? value : own(value));

export const ownKey = (key: Buffer | null): Buffer | null => (key === null ? null : own(key));

/** Those headers, copied. */
export function pickHeaders(headers: RecordHeaders, names: readonly string[]): RecordHeaders {
  if (names.length === 0) return NO_HEADERS;
  const picked: [string, HeaderValue | undefined][] = [];
  for (const name of names) {
    if (!Object.hasOwn(headers, name)) continue;
    const value = headers[name];
    picked.push([name, Array.isArray(value) ? value.map(ownValue) : value && ownValue(value as Buffer | string)]);
  }
  return picked.length === 0 ? NO_HEADERS : Object.fromEntries(picked);
}

/** Memory they take, bytes. */
export function headerBytes(headers: RecordHeaders): number {
  if (headers === NO_HEADERS) return 0;
  let bytes = 0;
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    for (const one of Array.isArray(value) ? value : [value]) bytes += 2 * (name.length + (one?.length ?? 0)) + 8;
  }
  return bytes;
}
