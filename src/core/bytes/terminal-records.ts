/** Terminal records of one transaction, column by column, and the source records that they end. */
import type { OutgoingRecord, SourceCoordinate } from '../record.ts';
import { EncodedRecords } from './encoded-records.ts';

/** Source records by row. */
export interface Coordinates {
  readonly length: number;
  partition(row: number): number;
  offset(row: number): number;
}

export class TerminalRecords implements Coordinates {
  readonly records = new EncodedRecords();
  readonly #partitions: number[] = [];
  readonly #offsets: number[] = [];

  static of(all: Iterable<SourceCoordinate & { readonly record: OutgoingRecord }>): TerminalRecords {
    const terminal = new TerminalRecords();
    for (const { partition, offset, record } of all) {
      terminal.end(partition, offset);
      terminal.records.add(record);
    }
    return terminal;
  }

  get length(): number {
    return this.#partitions.length;
  }

  /** Names the source record that the next record of `records` ends. */
  end(partition: number, offset: number): void {
    this.#partitions.push(partition);
    this.#offsets.push(offset);
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
    this.#partitions.length = 0;
    this.#offsets.length = 0;
  }
}
