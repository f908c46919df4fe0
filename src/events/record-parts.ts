/** Headers of a record that its item keeps. */
import { NO_HEADERS, type RecordHeaders } from '../core/record.ts';

/** Those headers, in the record's order. */
export function pickHeaders(headers: RecordHeaders, names: readonly string[]): RecordHeaders {
  if (names.length === 0 || headers.length === 0) return NO_HEADERS;
  return headers.filter(([name]) => names.includes(name));
}

/** Memory they take, bytes. */
export function headerBytes(headers: RecordHeaders): number {
  let bytes = 0;
  if (headers.length === 0) return bytes;
  for (const [name, value] of headers) bytes += 2 * (name.length + (value?.length ?? 0)) + 8;
  return bytes;
}
