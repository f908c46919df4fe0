/**
 * Reader of one result file, piece by piece. Rows are cut by a scanner, and from the first row that
 * the scanner cannot cut, or whose line end is missing, the rest of the file by csv-parse. Either
 * way the decision writer takes them as bytes.
 */
import { isUtf8 } from 'node:buffer';
import type { ResultColumns } from '../../../core/bytes/result-slice.ts';
import { type Rooms, SliceWriter } from '../../../core/bytes/slice-writer.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { CsvParser, tooLarge } from './csv-parser.ts';
import type { SharedByFiles } from './file-settings.ts';
import { PartialRow } from './partial-row.ts';
import { readResultHeader, unreadable } from './result-header.ts';
import { NOT_WHOLE, RowScanner, UNKNOWN } from './row-scanner.ts';
import { DecisionWriter } from './writers/decision-writer.ts';

const LINE_FEED = 0x0a;
/** Mark of a file that csv-parse reads as UTF-16. */
const UTF16_MARK = Buffer.from([0xff, 0xfe]);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** Larger rows are left to csv-parse. */
const MAX_PARTIAL_BYTES = 8 * 1024 * 1024;
/** Bytes fed to csv-parse at a time. */
const SLICE_BYTES = 64 * 1024;

/** Rows of a piece, and the problem that ended the file in it. */
export interface ReadRows {
  readonly rows: ResultColumns | undefined;
  /** Reason to stop reading, a ServiceError or a bug; undefined if there is none. */
  readonly problem: unknown;
}

export class ResultReader {
  readonly #shared: SharedByFiles;
  readonly #expectedRows: number | undefined;
  readonly #slice: SliceWriter;
  readonly #scanner = new RowScanner();
  readonly #partial = new PartialRow();
  /** True if the scanner has read the partial row. */
  #resumes = false;
  /** True once the byte order mark, if any, is skipped. */
  #begun = false;
  /** Writer of the decisions and column of the references, once the header is read. */
  #decisions: DecisionWriter | undefined;
  #referenceColumn = -1;
  #job: JobContext | undefined;
  /** Parser of the rest of the file, once it is needed. */
  #rest: CsvParser | undefined;
  readonly #records: string[][] = [];
  #taken = 0;
  #lastByte: number | undefined;
  /** Bytes since the last row, in whole pieces: empty lines take time as well. */
  #bytesSinceRow = 0;
  #rowEnded = false;

  /** @param expectedRows rows reported by the service; undefined if it reports none */
  constructor(shared: SharedByFiles, expectedRows: number | undefined, rooms?: Rooms) {
    this.#shared = shared;
    this.#expectedRows = expectedRows;
    this.#slice = new SliceWriter(rooms);
  }

  /** Reads the next piece and keeps nothing of it. @param job for the decisions of its rows */
  async read(piece: Buffer, job: JobContext): Promise<ReadRows> {
    this.#job = job;
    this.#lastByte = piece.at(-1) ?? this.#lastByte;
    return this.#rowsOf(async () => {
      if (this.#rest !== undefined) return this.#parse(this.#rest, piece);
      this.#rowEnded = false;
      const left = this.#scan(piece);
      if (left !== undefined) return this.#handOver(left);
      this.#bytesSinceRow = this.#rowEnded ? 0 : this.#bytesSinceRow + piece.length;
      return this.#bytesSinceRow > this.#shared.settings.maxRowBytes ? tooLarge() : undefined;
    });
  }

  /** To be called after the last piece. */
  async end(): Promise<ReadRows> {
    return this.#rowsOf(async () => {
      const problem =
        this.#partial.length === 0 ? undefined : await this.#handOver(this.#partial.bytes);
      return problem ?? (await this.#finish());
    });
  }

  close(): void {
    this.#rest?.destroy();
  }

  async #rowsOf(step: () => Promise<unknown>): Promise<ReadRows> {
    let problem: unknown;
    try {
      problem = await step();
    } catch (error) {
      problem = error;
    }
    return { rows: this.#slice.finish(), problem };
  }

  /** @returns bytes that only csv-parse can read; undefined when the piece is read, or kept for the next one */
  #scan(piece: Buffer): Buffer | undefined {
    const partial = this.#partial;
    const isContinued = partial.length > 0;
    if (isContinued) partial.add(piece);
    const bytes = isContinued ? partial.bytes : piece;
    let at = 0;
    if (!this.#begun && bytes.length >= BYTE_ORDER_MARK.length) {
      if (bytes.subarray(0, UTF16_MARK.length).equals(UTF16_MARK)) return bytes;
      const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
      if (isMarked) at = BYTE_ORDER_MARK.length;
      this.#begun = true;
    }
    let isText: boolean | undefined;
    while (this.#begun && at < bytes.length) {
      const next = this.#resumes ? this.#scanner.resume(bytes) : this.#scanner.scan(bytes, at);
      this.#resumes = false;
      if (next === NOT_WHOLE) {
        // Only the bytes of a row at the beginning stay where they are.
        this.#resumes = at === 0;
        break;
      }
      if (next === UNKNOWN || next - at > this.#shared.settings.maxRowBytes)
        return bytes.subarray(at);
      isText ??= isUtf8(bytes.subarray(at, bytes.lastIndexOf(LINE_FEED) + 1));
      this.#takeScanned(isText || isUtf8(bytes.subarray(at, next)));
      at = next;
    }
    if (isContinued) partial.drop(at);
    else partial.add(piece.subarray(at));
    return partial.length > MAX_PARTIAL_BYTES ? partial.bytes : undefined;
  }

  /** Takes the scanned row. @param isText whether its bytes are UTF-8 */
  #takeScanned(isText: boolean): void {
    if (this.#scanner.cells === 0) return;
    if (this.#decisions !== undefined && isText) this.#takeRow(this.#decisions);
    else this.#take(this.#scanner.texts());
  }

  /** Takes a row of decoded cells, or the header. */
  #take(cells: readonly string[]): void {
    if (this.#decisions !== undefined) {
      this.#scanner.place(cells);
      this.#takeRow(this.#decisions);
      return;
    }
    this.#rowEnded = true;
    const { settings, seenColumns, onNotice } = this.#shared;
    const header = readResultHeader(cells, settings, seenColumns);
    this.#decisions = new DecisionWriter(header, cells, settings, onNotice);
    this.#referenceColumn = header.reference;
  }

  #takeRow(decisions: DecisionWriter): void {
    this.#rowEnded = true;
    this.#taken++;
    decisions.write(this.#scanner, this.#job as JobContext, this.#slice);
  }

  /** Lets csv-parse read the rest of the file. @param bytes the beginning of the rest */
  async #handOver(bytes: Buffer): Promise<unknown> {
    // A mark behind the beginning is content.
    this.#rest = new CsvParser(this.#records, this.#shared.settings.maxRowBytes, !this.#begun);
    const problem = await this.#parse(this.#rest, bytes);
    this.#partial.drop(this.#partial.length);
    return problem;
  }

  async #parse(parser: CsvParser, bytes: Buffer): Promise<unknown> {
    for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
      // A copy, because csv-parse keeps its end.
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
    // csv-parse looks ahead and may emit the header only now.
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
          'the result file is truncated or has no final line end: its last row may not be whole',
        );
      }
    }
    this.#takeRecords();
    if (problem === undefined) decisions.finish();
    return problem;
  }
}
