/** Sizes of record batches (Kafka's message format v2), from the sizes of the records in them (EncodedRecords). */
import { varintSize } from '../../base/varint.ts';

/** Bytes of a batch in front of its records. */
export const BATCH_HEADER_BYTES = 61;
/** A record's attributes and timestamp delta: all records of a batch have its timestamp. */
const RECORD_HEAD_BYTES = 2;

/** Returns the length that stands before a record in a batch. @param recordBytes size of the record @param place its number in the batch, from 0 */
export function lengthInBatch(recordBytes: number, place: number): number {
  return RECORD_HEAD_BYTES + varintSize(place) + recordBytes;
}

/** Returns the size of a record in a batch, its length included. Parameters as in `lengthInBatch`. */
export function sizeInBatch(recordBytes: number, place: number): number {
  const length = lengthInBatch(recordBytes, place);
  return varintSize(length) + length;
}

/** True if a topic with this max.message.bytes takes a record, alone in its batch. */
export function fits(recordBytes: number, maxMessageBytes: number): boolean {
  return BATCH_HEADER_BYTES + sizeInBatch(recordBytes, 0) <= maxMessageBytes;
}
