/** Terminal records of a transaction, with the source records that they settle. */

import { grown } from '../../../packages/client/src/base/grown.ts';
import type { OutgoingRecord, SourceCoordinate } from '../record.ts';
import { EncodedRecords } from './encoded-records.ts';

/** Coordinates of source records by row. */
export interface Coordinates {
  readonly length: number;
  partition(row: number): number;
  offset(row: number): number;
}

const LEAST_ROWS = 64;

export class TerminalRecords implements Coordinates {
  readonly records = new EncodedRecords();
  /** Partition and offset per row. */
  #coordinates = new Float64Array(2 * LEAST_ROWS);

  get length(): number {
    return this.records.length;
  }

  /**
   * Encodes the record that settles a source record.
   * @throws TypeError if a part is neither bytes nor text; nothing is added
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

  /** Removes all records and keeps the memory for the next transaction. */
  clear(): void {
    this.records.clear();
  }

  /** Stores the coordinate of the last record. */
  #locate(partition: number, offset: number): void {
    const at = 2 * (this.records.length - 1);
    if (at === this.#coordinates.length)
      this.#coordinates = grown(this.#coordinates, new Float64Array(at * 2));
    this.#coordinates[at] = partition;
    this.#coordinates[at + 1] = offset;
  }
}
