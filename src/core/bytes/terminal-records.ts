/** Terminal records of one transaction, column by column, and the source records that they end. */
import type { OutgoingRecord, SourceCoordinate } from '../record.ts';
import { EncodedRecords } from './encoded-records.ts';
import { grown } from './grown.ts';

/** Source records by row. */
export interface Coordinates {
  readonly length: number;
  partition(row: number): number;
  offset(row: number): number;
}

const LEAST_ROWS = 64;

export class TerminalRecords implements Coordinates {
  readonly records = new EncodedRecords();
  #partitions = new Int32Array(LEAST_ROWS);
  #offsets = new Float64Array(LEAST_ROWS);

  static of(
    all: Iterable<SourceCoordinate & { readonly record: OutgoingRecord }>,
  ): TerminalRecords {
    const terminal = new TerminalRecords();
    for (const one of all) terminal.add(one, one.record);
    return terminal;
  }

  get length(): number {
    return this.records.length;
  }

  /** Encodes the record that ends a source record. @throws TypeError when a part of it is neither bytes nor text; nothing is added */
  add({ partition, offset }: SourceCoordinate, record: OutgoingRecord): void {
    this.records.add(record);
    this.#name(partition, offset);
  }

  /** Adds an encoded record, as EncodedRecords.addBytes does. */
  addBytes(partition: number, offset: number, source: Buffer, start: number, end: number): void {
    this.records.addBytes(source, start, end);
    this.#name(partition, offset);
  }

  partition(row: number): number {
    return this.#partitions[row] as number;
  }

  offset(row: number): number {
    return this.#offsets[row] as number;
  }

  /** Forgets everything, and keeps the room for the next transaction. */
  clear(): void {
    this.records.clear();
  }

  /** Names the source record that the last record ends. */
  #name(partition: number, offset: number): void {
    const row = this.records.length - 1;
    if (row >= this.#partitions.length) {
      this.#partitions = grown(this.#partitions, new Int32Array(row * 2));
      this.#offsets = grown(this.#offsets, new Float64Array(row * 2));
    }
    this.#partitions[row] = partition;
    this.#offsets[row] = offset;
  }
}
