import type { OutgoingRecord } from './record.ts';

/**
 * Bytes of a record that is to be published.
 * @throws TypeError when a part of it is neither bytes nor text: it could not be sent
 */
export function bytesOf({ key, value, headers = [] }: OutgoingRecord): number {
  let bytes = lengthOf(key) + lengthOf(value);
  for (const [, one] of headers) bytes += lengthOf(one);
  return bytes;
}

function lengthOf(part: unknown): number {
  if (part === null) return 0;
  if (typeof part === 'string' || part instanceof Uint8Array) return part.length;
  throw new TypeError('a part of a record is neither bytes nor text');
}
