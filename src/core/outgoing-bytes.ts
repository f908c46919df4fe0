/** Sizes of records that are to be published. */
import { varintSize } from './bytes/varint.ts';
import type { OutgoingRecord } from './record.ts';

/** Overhead of a batch beside its records, bytes, with some room. */
export const BATCH_OVERHEAD_BYTES = 128;
/** Largest overhead of a record beside its key, value and headers, bytes: lengths, deltas and attributes. */
const RECORD_OVERHEAD_BYTES = 32;
const HEADER_OVERHEAD_BYTES = 10;
/** Exact size of what stands in front of the records of a batch. */
const BATCH_HEADER_BYTES = 61;
/** Attributes, timestamp delta and offset delta of a record that is alone in its batch: a byte each. */
const LONE_RECORD_BYTES = 3;

/** Size of a record in a batch, bytes, not less than it will be. */
export function recordBytes({ key, value, headers = [] }: OutgoingRecord): number {
  let bytes = RECORD_OVERHEAD_BYTES + byteLength(key) + byteLength(value);
  for (const [name, one] of headers) bytes += HEADER_OVERHEAD_BYTES + Buffer.byteLength(name) + byteLength(one);
  return bytes;
}

/** Whether a topic with this max.message.bytes takes a record, alone in its batch. @param bytes size of the record (sizeOfRecord) */
export function fits(bytes: number, maxMessageBytes: number): boolean {
  const length = LONE_RECORD_BYTES + bytes;
  return BATCH_HEADER_BYTES + varintSize(length) + length <= maxMessageBytes;
}

function byteLength(part: Buffer | string | null): number {
  return part === null ? 0 : Buffer.byteLength(part);
}
