/** Encoded records of a transaction (record-bytes.ts). A few objects hold thousands of records. */

import { grown } from '../../../packages/client/src/base/grown.ts';
import { varintSize } from '../../../packages/client/src/base/varint.ts';
import type { OutgoingRecord, SourceCoordinate } from '../record.ts';
import {
  hashKeyOfRecord,
  type KeyHash,
  readRecord,
  sizeOfRecord,
  writeRecord,
} from './record-bytes.ts';

// Sizes of record batches (Kafka's message format v2), computed from the sizes of their encoded records.

/** Bytes of a batch before its records. */
export const BATCH_HEADER_BYTES = 61;
/** Bytes of a record's attributes and timestamp delta. The delta is always 0 and takes one byte. */
const RECORD_HEAD_BYTES = 2;

/**
 * Returns the value of a record's length field in a batch.
 * @param recordBytes encoded size of the record @param place its index in the batch
 */
export function lengthInBatch(recordBytes: number, place: number): number {
  return RECORD_HEAD_BYTES + varintSize(place) + recordBytes;
}

/** Returns the size of a record in a batch, including its length field; see `lengthInBatch`. */
export function sizeInBatch(recordBytes: number, place: number): number {
  const length = lengthInBatch(recordBytes, place);
  return varintSize(length) + length;
}

/** True if a topic with this max.message.bytes accepts the record, alone in its batch. */
export function fits(recordBytes: number, maxMessageBytes: number): boolean {
  return BATCH_HEADER_BYTES + sizeInBatch(recordBytes, 0) <= maxMessageBytes;
}

const LEAST_ROWS = 64;
/** Numbers per row in `#places`. */
const PLACES = 3;
/** Minimum and maximum size of the buffers that encoded records share. */
const LEAST_ROOM_BYTES = 1024;
const MOST_ROOM_BYTES = 64 * 1024;

export class EncodedRecords {
  #length = 0;
  #bytes = 0;
  readonly #sources: Buffer[] = [];
  /** Per row: index of its source, and its start and end in that source. */
  #places = new Int32Array(LEAST_ROWS * PLACES);
  /** Buffer that `add` writes to. */
  #room = Buffer.alloc(0);
  #used = 0;

  static of(records: Iterable<OutgoingRecord>): EncodedRecords {
    const encoded = new EncodedRecords();
    for (const record of records) encoded.add(record);
    return encoded;
  }

  get length(): number {
    return this.#length;
  }

  /** Total size of the records, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Encodes a record. @throws TypeError if a part is neither bytes nor a string; then the record is not added */
  add(record: OutgoingRecord): void {
    const size = sizeOfRecord(record);
    if (this.#room.length - this.#used < size) {
      const larger = Math.min(MOST_ROOM_BYTES, Math.max(LEAST_ROOM_BYTES, this.#room.length * 2));
      this.#room = Buffer.allocUnsafe(Math.max(size, larger));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used = writeRecord(record, this.#room, start);
    this.addBytes(this.#room, start, this.#used);
  }

  /** Adds an encoded record. Its bytes must not change until `clear`. */
  addBytes(source: Buffer, start: number, end: number): void {
    const at = this.#length++ * PLACES;
    if (at === this.#places.length) this.#places = grown(this.#places, new Int32Array(at * 2));
    if (this.#sources.at(-1) !== source) this.#sources.push(source);
    this.#places[at] = this.#sources.length - 1;
    this.#places[at + 1] = start;
    this.#places[at + 2] = end;
    this.#bytes += end - start;
  }

  /** Returns the size of a record, bytes. */
  size(row: number): number {
    return this.#end(row) - this.#start(row);
  }

  /** Copies a record. @returns the offset of the next byte */
  copy(row: number, to: Buffer, at: number): number {
    return at + this.#source(row).copy(to, at, this.#start(row), this.#end(row));
  }

  /** Hashes the key of a record in place. @returns undefined for a record without a key */
  hashKey(row: number, hash: KeyHash): number | undefined {
    return hashKeyOfRecord(this.#source(row), this.#start(row), hash);
  }

  /** Returns a record with views of its key, value and header values. */
  record(row: number): ReturnType<typeof readRecord> {
    return readRecord(this.#source(row), this.#start(row));
  }

  /** Yields the records with views of their bytes, in order. */
  *[Symbol.iterator](): IterableIterator<ReturnType<typeof readRecord>> {
    for (let row = 0; row < this.#length; row++) yield this.record(row);
  }

  /** Removes all records but keeps the memory for the next ones. */
  clear(): void {
    this.#length = 0;
    this.#bytes = 0;
    this.#used = 0;
    this.#sources.length = 0;
  }

  #source(row: number): Buffer {
    return this.#sources[this.#places[row * PLACES] as number] as Buffer;
  }

  #start(row: number): number {
    return this.#places[row * PLACES + 1] as number;
  }

  #end(row: number): number {
    return this.#places[row * PLACES + 2] as number;
  }
}

// Terminal records of a transaction, with the source records that they settle.

/** Coordinates of source records by row. */
export interface Coordinates {
  readonly length: number;
  partition(row: number): number;
  offset(row: number): number;
}

export class TerminalRecords implements Coordinates {
  readonly records = new EncodedRecords();
  /** Partition and offset per row. */
  #coordinates = new Float64Array(2 * LEAST_ROWS);

  get length(): number {
    return this.records.length;
  }

  /**
   * Encodes the record that settles a source record.
   * @throws TypeError if a part is neither bytes nor a string; then the record is not added
   */
  add({ partition, offset }: SourceCoordinate, record: OutgoingRecord): void {
    this.records.add(record);
    this.#locate(partition, offset);
  }

  /** Adds an encoded record; see EncodedRecords.addBytes. */
  addBytes(partition: number, offset: number, source: Buffer, start: number, end: number): void {
    this.records.addBytes(source, start, end);
    this.#locate(partition, offset);
  }

  partition(row: number): number {
    return this.#coordinates[2 * row] as number;
  }

  offset(row: number): number {
    return this.#coordinates[2 * row + 1] as number;
  }

  /** Removes all records but keeps the memory for the next transaction. */
  clear(): void {
    this.records.clear();
  }

  /** Stores the coordinates of the source record that the last record settles. */
  #locate(partition: number, offset: number): void {
    const at = 2 * (this.records.length - 1);
    if (at === this.#coordinates.length)
      this.#coordinates = grown(this.#coordinates, new Float64Array(at * 2));
    this.#coordinates[at] = partition;
    this.#coordinates[at + 1] = offset;
  }
}
