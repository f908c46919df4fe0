/** Sizes of record batches (Kafka's message format v2), computed from the sizes of their encoded records. */
import { varintSize } from '../../../packages/client/src/base/varint.ts';

/** Bytes of a batch before its records. */
export const BATCH_HEADER_BYTES = 61;
/** Attributes and timestamp delta of a record: all records of a batch have its timestamp. */
const RECORD_HEAD_BYTES = 2;

/**
 * Returns the length written before a record in a batch.
 * @param recordBytes size of the record @param place its number in the batch, from 0
 */
export function lengthInBatch(recordBytes: number, place: number): number {
  return RECORD_HEAD_BYTES + varintSize(place) + recordBytes;
}

/** Returns the size of a record in a batch with its length; parameters as in `lengthInBatch`. */
export function sizeInBatch(recordBytes: number, place: number): number {
  const length = lengthInBatch(recordBytes, place);
  return varintSize(length) + length;
}

/** True if a topic with this max.message.bytes accepts the record, alone in its batch. */
export function fits(recordBytes: number, maxMessageBytes: number): boolean {
  return BATCH_HEADER_BYTES + sizeInBatch(recordBytes, 0) <= maxMessageBytes;
}
