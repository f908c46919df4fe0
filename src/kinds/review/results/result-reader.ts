/**
 * Reader of one result file, piece by piece. Rows are cut by a scanner, and from the first row that
 * the scanner cannot cut, or whose line end is missing, the rest of the file by csv-parse. Either
 * way the decision writer takes them as bytes.
 */
import { isUtf8 } from 'node:buffer';
import type { ResultColumns } from '../../../core/bytes/result-slice.ts';
import { type Rooms, SliceWriter } from '../../../core/bytes/slice-writer.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { DecisionWriter } from './decision-writer.ts';
import type { SharedByFiles } from './file-settings.ts';
import { HeldBytes } from './held-bytes.ts';
import { RecordParser, tooLarge } from './record-parser.ts';
import { readResultHeader, unreadable } from './result-header.ts';
import { NOT_WHOLE, RowScanner, UNKNOWN } from './row-scanner.ts';

const LINE_FEED = 0x0a;
/** csv-parse reads a file that begins so as UTF-16. */
const UTF16_MARK = Buffer.from([0xff, 0xfe]);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** Bytes that a scan goes on with, or as many as it has looked at. */
const STEP_BYTES = 4 * 1024;
/** A row that is larger is left to csv-parse. */
const MAX_HELD_BYTES = 8 * 1024 * 1024;
/** Bytes that csv-parse is fed in one go. */
const SLICE_BYTES = 64 * 1024;

/** Rows of a piece, and the problem that ended the file in it. */
export interface Reading {
  readonly rows: ResultColumns | undefined;
  /** Reason to read no further: a ServiceError, or a mistake of ours. undefined: there is none. */
  readonly problem: unknown;
}

export class ResultReader {
  readonly #shared: SharedByFiles;
  readonly #expectedRows: number | undefined;
  readonly #slice: SliceWriter;
  readonly #scanner = new RowScanner();
  readonly #held = new HeldBytes();
  /** The scanner has seen the bytes that are held. */
  #resumes = false;
  /** The byte order mark, if any, has been passed. */
  #begun = false;
  /** Writer of the rows behind the header, once that is read, and the reference's column. */
  #decisions: DecisionWriter | undefined;
  #referenceColumn = -1;
  #job: JobContext | undefined;
  /** Reads the rest of the file, once there is one. */
  #rest: RecordParser | undefined;
  readonly #records: string[][] = [];
  #taken = 0;
  #lastByte: number | undefined;
  /** Bytes since the last row, in whole pieces: empty lines take time too. */
  #bytesSinceRow = 0;
  #rowEnded = false;

  /** @param expectedRows rows that the service says it wrote; undefined when it does not say */
  constructor(shared: SharedByFiles, expectedRows: number | undefined, rooms?: Rooms) {
    this.#shared = shared;
    this.#expectedRows = expectedRows;
    this.#slice = new SliceWriter(rooms);
  }

  /** Reads the next piece, of which nothing is kept. @param job for the decisions of its rows */
  async read(piece: Buffer, job: JobContext): Promise<Reading> {
    this.#job = job;
    this.#lastByte = piece.at(-1) ?? this.#lastByte;
    return this.#reading(async () => {
      if (this.#rest !== undefined) return this.#parse(this.#rest, piece);
      this.#rowEnded = false;
      const left = this.#scan(piece);
      if (left !== undefined) return this.#handOver(piece.subarray(left));
      this.#bytesSinceRow = this.#rowEnded ? 0 : this.#bytesSinceRow + piece.length;
      return this.#bytesSinceRow > this.#shared.settings.maxRowBytes ? tooLarge() : undefined;
    });
  }

  /** To be called after the last piece. */
  async end(): Promise<Reading> {
    return this.#reading(async () => {
      const problem =
        this.#rest === undefined && this.#held.length > 0
          ? await this.#handOver(Buffer.alloc(0))
          : undefined;
      return problem ?? (await this.#finish());
    });
  }

  close(): void {
    this.#rest?.destroy();
  }

  async #reading(step: () => Promise<unknown>): Promise<Reading> {
    let problem: unknown;
    try {
      problem = await step();
    } catch (error) {
      problem = error;
    }
    return { rows: this.#slice.finish(), problem };
  }

  /** @returns where csv-parse has to go on, behind what is held; undefined when the piece is read */
  #scan(piece: Buffer): number | undefined {
    let at = 0;
    if (!this.#begun) {
      at = Math.min(piece.length, BYTE_ORDER_MARK.length - this.#held.length);
      this.#held.add(piece, 0, at);
      if (this.#held.length < BYTE_ORDER_MARK.length) return undefined;
      if (this.#held.bytes.subarray(0, UTF16_MARK.length).equals(UTF16_MARK)) return at;
      if (this.#held.bytes.equals(BYTE_ORDER_MARK)) this.#held.drop(BYTE_ORDER_MARK.length);
      this.#begun = true;
    }
    const first = at;
    while (this.#held.length > 0) {
      const bytes = this.#held.bytes;
      const next = this.#resumes ? this.#scanner.resume(bytes) : this.#scanner.scan(bytes, 0);
      this.#resumes = next === NOT_WHOLE;
      if (next === NOT_WHOLE) {
        if (at === piece.length) return bytes.length > MAX_HELD_BYTES ? at : undefined;
        const end = Math.min(piece.length, at + Math.max(STEP_BYTES, bytes.length));
        this.#held.add(piece, at, end);
        at = end;
        continue;
      }
      if (next === UNKNOWN || next > this.#shared.settings.maxRowBytes) return at;
      this.#takeScanned(bytes, isUtf8(bytes.subarray(0, next)));
      // What is held behind the row is read where it came from.
      const left = Math.min(bytes.length - next, at - first);
      at -= left;
      this.#held.drop(next, left);
    }
    return this.#scanPiece(piece, at);
  }

  #scanPiece(piece: Buffer, start: number): number | undefined {
    const { maxRowBytes } = this.#shared.settings;
    const isText = isUtf8(piece.subarray(start, piece.lastIndexOf(LINE_FEED) + 1));
    let at = start;
    while (at < piece.length) {
      const next = this.#scanner.scan(piece, at);
      if (next === NOT_WHOLE) {
        this.#held.add(piece, at, piece.length);
        return undefined;
      }
      if (next === UNKNOWN || next - at > maxRowBytes) return at;
      this.#takeScanned(piece, isText || isUtf8(piece.subarray(at, next)));
      at = next;
    }
    return undefined;
  }

  /** Takes the scanned row. @param isText whether its bytes are UTF-8 */
  #takeScanned(bytes: Buffer, isText: boolean): void {
    if (this.#scanner.cells === 0) return;
    if (this.#decisions !== undefined && isText) this.#takeRow(bytes, this.#decisions);
    else this.#take(this.#scanner.texts(bytes));
  }

  #take(cells: readonly string[]): void {
    if (this.#decisions !== undefined) {
      this.#takeRow(this.#scanner.place(cells), this.#decisions);
      return;
    }
    this.#rowEnded = true;
    const { settings, seenColumns, onNotice } = this.#shared;
    const header = readResultHeader(cells, settings, seenColumns);
    this.#decisions = new DecisionWriter(header, cells, settings, onNotice);
    this.#referenceColumn = header.reference;
  }

  #takeRow(bytes: Buffer, decisions: DecisionWriter): void {
    this.#rowEnded = true;
    this.#taken++;
    decisions.write(this.#scanner, bytes, this.#jobContext(), this.#slice);
  }

  #jobContext(): JobContext {
    if (this.#job === undefined) throw new Error('no piece has come');
    return this.#job;
  }

  /** @param behind what follows the bytes that are held */
  async #handOver(behind: Buffer): Promise<unknown> {
    const held = Buffer.from(this.#held.bytes);
    this.#held.drop(held.length);
    // A mark behind the beginning is content.
    const parser = new RecordParser(this.#records, this.#shared.settings.maxRowBytes, !this.#begun);
    this.#rest = parser;
    return (await this.#parse(parser, held)) ?? this.#parse(parser, behind);
  }

  async #parse(parser: RecordParser, bytes: Buffer): Promise<unknown> {
    for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
      // A copy: csv-parse keeps the end of it.
      const problem = await parser.feed(Buffer.from(bytes.subarray(start, start + SLICE_BYTES)));
      this.#takeRecords();
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  #takeRecords(): void {
    for (const record of this.#records.splice(0)) this.#take(record);
  }

  async #finish(): Promise<unknown> {
    const { lastRows } = this.#shared;
    let problem: unknown = await this.#rest?.finish();
    // csv-parse looks ahead, and may give the header only now.
    const [header] = this.#decisions === undefined ? this.#records.splice(0, 1) : [];
    if (header !== undefined) this.#take(header);
    const decisions = this.#decisions;
    if (decisions === undefined)
      return problem ?? unreadable('the result file is empty: it has no header');
    const last = this.#records.at(-1);
    const came = this.#taken + this.#records.length;
    const endsLine = this.#lastByte === LINE_FEED;
    if (problem === undefined && endsLine && this.#expectedRows === came) lastRows.endedLine();
    if (problem === undefined && !endsLine && last !== undefined) {
      const more = came < (this.#expectedRows ?? 0);
      if (!lastRows.isWhole(last, last[this.#referenceColumn] ?? '', more)) {
        this.#records.pop();
        problem = unreadable(
          'the result file is cut, or has no line end at its end: its last row may not be whole',
        );
      }
    }
    this.#takeRecords();
    if (problem === undefined) decisions.finish();
    return problem;
  }
}
