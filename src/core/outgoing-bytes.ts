/** Sizes of records that are to be published. */
import type { OutgoingRecord } from './record.ts';

/** Overhead of a batch beside its records, bytes, with some room. */
export const BATCH_OVERHEAD_BYTES = 128;
/** Largest overhead of a record beside its key, value and headers, bytes: lengths, deltas and attributes. */
const RECORD_OVERHEAD_BYTES = 32;
const HEADER_OVERHEAD_BYTES = 10;
/** UTF-8 has no more for a character. */
const MOST_BYTES = 3;

/**
 * Bytes of a record, or characters where it has texts.
 * @throws TypeError when a part of it is neither bytes nor text: it could not be sent
 */
export function bytesOf({ key, value, headers = [] }: OutgoingRecord): number {
  let bytes = lengthOf(key) + lengthOf(value);
  for (const [name, one] of headers) bytes += name.length + lengthOf(one);
  return bytes;
}

function lengthOf(part: unknown): number {
  if (part === null) return 0;
  if (typeof part === 'string' || part instanceof Uint8Array) return part.length;
  throw new TypeError('a part of a record is neither bytes nor text');
}

/** Size of a record in a batch, bytes, not less than it will be. */
export function recordBytes({ key, value, headers = [] }: OutgoingRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + byteLength(key) + byteLength(value);
  for (const [name, one] of headers) bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + byteLength(one);
  return bytes;
}

/**
 * Whether a topic with this max.message.bytes takes a record.
 * @throws TypeError as `bytesOf` does
 */
export function fits(record: OutgoingRecord, maxMessageBytes: number): boolean {
  const room = maxMessageBytes - BATCH_OVERHEAD_BYTES;
  const framing = RECORD_OVERHEAD_BYTES + HEADER_OVERHEAD_BYTES * (record.headers?.length ?? 0);
  return bytesOf(record) * MOST_BYTES + framing <= room || recordBytes(record) <= room;
}

function byteLength(part: Buffer | string | null): number {
  return part === null ? 0 : Buffer.byteLength(part);
}
