/** Writer of consecutive slices. Writes records to one buffer, and other values to columns. */
import { grown } from '../../../packages/client/src/base/grown.ts';
import { attempt, internalPoison } from '../outcome/internal-error.ts';
import type { OutgoingRecord } from '../record.ts';
import { sizeOfRecord, writeRecord } from './record-bytes.ts';
import {
  type BrokenRow,
  type MalformedRow,
  type ReadRow,
  type ResultColumns,
  ResultSlice,
  ROW_NUMBERS,
  type RowOutcome,
} from './result-slice.ts';

type Text = string | undefined;

const LEAST_ROWS = 32;
const LEAST_ROOM_BYTES = 16 * 1024;

export class SliceWriter {
  #room: Buffer<ArrayBuffer> | undefined;
  #end = 0;
  #rows = 0;
  #numbers = new Float64Array(0);
  #outcomes: RowOutcome[] = [];
  /** Indexes of the outcomes by status and result. */
  readonly #places = [new Map<Text, number>(), new Map<Text, number>()];
  #others: (MalformedRow | BrokenRow)[] = [];
  /** Rows and bytes of the previous slice, as an estimate for the next one. */
  #rowsBefore = 0;
  #bytesBefore = 0;

  /** Offset of the next record in the buffer that `reserve` returns. */
  get end(): number {
    return this.#end;
  }

  /** Returns the buffer, with room at `end` for a record of `bytes` bytes. */
  reserve(bytes: number): Buffer {
    const room = this.#room;
    if (room !== undefined && this.#end + bytes <= room.length) return room;
    const likely = room === undefined ? this.#bytesBefore : room.length * 2;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#end + bytes, likely, LEAST_ROOM_BYTES));
    room?.copy(larger, 0, 0, this.#end);
    this.#room = larger;
    return larger;
  }

  /** Adds the row of the record that was written at `end`. @param result result of the review, if any */
  add(partition: number, offset: number, isError: boolean, result: Text, end: number): void {
    if ((this.#rows + 1) * ROW_NUMBERS > this.#numbers.length) this.#grow();
    const at = this.#rows++ * ROW_NUMBERS;
    this.#numbers[at] = partition;
    this.#numbers[at + 1] = offset;
    this.#numbers[at + 2] = end;
    this.#numbers[at + 3] = this.#place(isError, result);
    this.#end = end;
  }

  /** Returns a slice of the given rows; see `addRow`. */
  static sliceOf(rows: Iterable<ReadRow>): ResultSlice {
    const writer = new SliceWriter();
    for (const row of rows) writer.addRow(row);
    return new ResultSlice(writer.finish());
  }

  /**
   * Returns a copy of a slice with its records in another format, and releases the original. A
   * record that cannot be encoded becomes a broken row.
   */
  static encoded(
    slice: ResultSlice,
    encode: (record: OutgoingRecord) => OutgoingRecord,
  ): ResultSlice {
    const rows = Array.from(slice, (row): ReadRow => {
      if (!('record' in row)) return row;
      const { partition, offset } = row;
      const encoded = attempt(() => encode(row.record));
      return 'poison' in encoded
        ? { partition, offset, poison: encoded.poison }
        : { ...row, record: encoded.made };
    });
    const made = SliceWriter.sliceOf(rows);
    slice.release();
    return made;
  }

  /** Encodes a row. A record with a part that is neither bytes nor a string becomes a broken row. */
  addRow(row: ReadRow): void {
    if (!('record' in row)) {
      this.#others.push(row);
      return;
    }
    const { partition, offset, status, result, record } = row;
    try {
      const room = this.reserve(sizeOfRecord(record));
      const end = writeRecord(record, room, this.#end);
      this.add(partition, offset, status === 'error', result, end);
    } catch (error) {
      this.#others.push({ partition, offset, poison: internalPoison(error) });
    }
  }

  /** Returns the columns and starts the next slice. Returns undefined if there are no rows. */
  finish(): ResultColumns | undefined {
    if (this.#rows === 0 && this.#others.length === 0) return undefined;
    const columns = {
      rows: this.#rows,
      numbers: this.#numbers,
      bytes: this.reserve(0).buffer as ArrayBuffer,
      outcomes: this.#outcomes,
      others: this.#others,
    };
    this.#rowsBefore = this.#rows;
    this.#bytesBefore = Math.ceil(this.#end * 1.1);
    this.#room = undefined;
    this.#end = 0;
    this.#rows = 0;
    this.#numbers = new Float64Array(0);
    this.#outcomes = [];
    for (const places of this.#places) places.clear();
    this.#others = [];
    return columns;
  }

  #place(isError: boolean, result: Text): number {
    const places = this.#places[Number(isError)] as Map<Text, number>;
    let place = places.get(result);
    if (place === undefined) {
      place = this.#outcomes.push({ isError, result }) - 1;
      places.set(result, place);
    }
    return place;
  }

  #grow(): void {
    const rows = Math.max(LEAST_ROWS, this.#rows * 2, Math.ceil(this.#rowsBefore * 1.1));
    this.#numbers = grown(this.#numbers, new Float64Array(rows * ROW_NUMBERS));
  }
}
