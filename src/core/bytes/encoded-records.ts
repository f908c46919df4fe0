/** Records of one transaction as bytes (record-bytes.ts): thousands of records are a handful of objects. */
import type { OutgoingRecord } from '../record.ts';
import { grown } from './grown.ts';
import {
  hashKeyOfRecord,
  type KeyHash,
  readRecord,
  sizeOfRecord,
  writeRecord,
} from './record-bytes.ts';

const LEAST_ROWS = 64;
/** Records that are encoded here share pieces of memory, which double up to the larger size. */
const LEAST_ROOM_BYTES = 1024;
const MOST_ROOM_BYTES = 64 * 1024;

export class EncodedRecords {
  #length = 0;
  #bytes = 0;
  readonly #sources: Buffer[] = [];
  #source = new Int32Array(LEAST_ROWS);
  #start = new Int32Array(LEAST_ROWS);
  #end = new Int32Array(LEAST_ROWS);
  /** Where `add` writes. */
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

  /** Bytes of all records together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Encodes a record. @throws TypeError when a part of it is neither bytes nor text; nothing is added */
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

  /** Adds a record that is encoded already. Its bytes must stay as they are until `clear`. */
  addBytes(source: Buffer, start: number, end: number): void {
    const row = this.#length++;
    if (row === this.#start.length) this.#grow();
    if (this.#sources.at(-1) !== source) this.#sources.push(source);
    this.#source[row] = this.#sources.length - 1;
    this.#start[row] = start;
    this.#end[row] = end;
    this.#bytes += end - start;
  }

  /** Size of a record's bytes. */
  size(row: number): number {
    return (this.#end[row] as number) - (this.#start[row] as number);
  }

  /** Copies a record's bytes. @returns where the next byte goes */
  copy(row: number, to: Buffer, at: number): number {
    const start = this.#start[row] as number;
    const end = this.#end[row] as number;
    this.#sourceOf(row).copy(to, at, start, end);
    return at + end - start;
  }

  /** Hashes the key of a record where it stands. @returns undefined for a record without a key */
  hashKey(row: number, hash: KeyHash): number | undefined {
    return hashKeyOfRecord(this.#sourceOf(row), this.#start[row] as number, hash);
  }

  /** A record with views of its key, value and header values. */
  record(row: number): ReturnType<typeof readRecord> {
    return readRecord(this.#sourceOf(row), this.#start[row] as number);
  }

  /** Records with views of their bytes, in order. */
  *[Symbol.iterator](): IterableIterator<ReturnType<typeof readRecord>> {
    for (let row = 0; row < this.#length; row++) yield this.record(row);
  }

  /** Forgets the records, and keeps the room for the next. */
  clear(): void {
    this.#length = 0;
    this.#bytes = 0;
    this.#used = 0;
    this.#sources.length = 0;
  }

  #sourceOf(row: number): Buffer {
    return this.#sources[this.#source[row] as number] as Buffer;
  }

  #grow(): void {
    const rows = this.#start.length * 2;
    this.#source = grown(this.#source, new Int32Array(rows));
    this.#start = grown(this.#start, new Int32Array(rows));
    this.#end = grown(this.#end, new Int32Array(rows));
  }
}
