/** What a record that waits keeps of its key and headers. */
import { type Header, NO_HEADERS, type RecordHeaders } from '../core/record.ts';

/** A copy: a slice of a fetched response would keep the whole response, a megabyte, alive for as long as the item waits. */
const own = (bytes: Buffer): Buffer => Buffer.from(bytes);

export const ownKey = (key: Buffer | null): Buffer | null => (key === null ? null : own(key));

/** A copy. */
const ownHeader = ([name, value]: Header): Header => [name, value instanceof Buffer ? own(value) : value];

/** Those headers, copied, in the record's order. */
export function pickHeaders(headers: RecordHeaders, names: readonly string[]): RecordHeaders {
  if (names.length === 0 || headers.length === 0) return NO_HEADERS;
  const picked = headers.filter(([name]) => names.includes(name));
  return picked.length === 0 ? NO_HEADERS : picked.map(ownHeader);
}

/** Memory they take, bytes. */
export function headerBytes(headers: RecordHeaders): number {
  let bytes = 0;
  if (headers.length === 0) return bytes;
  for (const [name, value] of headers) bytes += 2 * (name.length + (value?.length ?? 0)) + 8;
  return bytes;
}
