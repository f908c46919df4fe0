/** Builder of pieces. Small records count with the objects that are made of them. */
import type { RecordPiece, UnreadableRecords } from '../../core/ports/kafka.ts';
import type { SourceRecord } from '../../core/record.ts';
import type { ReadLimits } from './fetched-bytes.ts';

/** Approximate memory of the objects of a record, and of a header, bytes. */
const OBJECT_BYTES = 100;

/** Small: after a cold start a piece takes long, and answers on sockets wait for it. */
const DEFAULT_BYTES = 64 * 1024;

export class PieceBuilder {
  readonly maxBytes: number;
  #records: SourceRecord[] = [];
  #weight = 0;

  constructor({ pieceBytes = DEFAULT_BYTES }: ReadLimits) {
    this.maxBytes = pieceBytes;
  }

  get empty(): boolean {
    return this.#records.length === 0;
  }

  /** @param size bytes of the record as it is encoded */
  add(record: SourceRecord, size: number): void {
    this.#records.push(record);
    this.#weight += size + OBJECT_BYTES * (1 + record.headers.length);
  }

  /** Returns true when a record of this size would make the piece too large. */
  isFullFor(size: number): boolean {
    return this.#weight > 0 && this.#weight + size > this.maxBytes;
  }

  /** Returns the piece, and begins the next one. */
  take(nextOffset: number, unreadable?: UnreadableRecords): RecordPiece {
    const records = this.#records;
    this.#records = [];
    this.#weight = 0;
    return { records, unreadable, nextOffset };
  }
}
