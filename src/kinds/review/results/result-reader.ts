/** Reader of one result file, piece by piece. */
import type { ResultColumns } from '../../../core/bytes/result-slice.ts';
import { type Rooms, SliceWriter } from '../../../core/bytes/slice-writer.ts';
import type { ServiceError } from '../../../core/outcome/service-error.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { REFERENCE_COLUMN } from '../metadata/columns.ts';
import type { SharedByFiles } from './file-settings.ts';
import { LARGE_BYTES, largeRowTurn, maxRowBytes } from './large-rows.ts';
import { PartialRow } from './partial-row.ts';
import { readResultHeader, unreadable } from './result-header.ts';
import { RowDecisions } from './row-decisions.ts';
import { MAX_COLUMNS, NOT_WHOLE, RowScanner, TOO_WIDE } from './row-scanner.ts';

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LINE_END = Buffer.from('\n');
/** Rows up to this size are scanned again with each piece; larger ones when they have doubled. */
const RESCANNED_BYTES = 128 * 1024;

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
  /** Size of the partial row from which on it is scanned again. */
  #scanFrom = 0;
  /** True once the byte order mark, if any, is skipped. */
  #begun = false;
  /** Decisions of the rows and column of the references, once the header is read. */
  #decisions: RowDecisions | undefined;
  #referenceColumn = -1;
  #job: JobContext | undefined;
  #taken = 0;
  /** Bytes since the last row: empty lines take time as well. */
  #bytesSinceRow = 0;
  /** Ends the turn of a large row. */
  #endTurn: (() => void) | undefined;

  /** @param expectedRows rows reported by the service; undefined if it reports none */
  constructor(shared: SharedByFiles, expectedRows: number | undefined, rooms?: Rooms) {
    this.#shared = shared;
    this.#expectedRows = expectedRows;
    this.#slice = new SliceWriter(rooms);
  }

  /**
   * Reads the next piece. Resolves when the file may go on: one with a large row waits for its turn.
   * @param job for the decisions of its rows
   */
  async read(piece: Buffer, job: JobContext): Promise<ReadRows> {
    this.#job = job;
    const read = this.#rowsOf(() => this.#read(piece, maxRowBytes(job)));
    if (this.#partial.length > LARGE_BYTES) this.#endTurn ??= await largeRowTurn();
    else this.close();
    return read;
  }

  /** To be called after the last piece. */
  async end(): Promise<ReadRows> {
    return this.#rowsOf(() => this.#end());
  }

  /** To be called once nothing more is read. Repeatable. */
  close(): void {
    this.#endTurn?.();
    this.#endTurn = undefined;
  }

  #rowsOf(step: () => ServiceError | undefined): ReadRows {
    let problem: unknown;
    try {
      problem = step();
    } catch (error) {
      problem = error;
    }
    return { rows: this.#slice.finish(), problem };
  }

  #read(piece: Buffer, limit: number): ServiceError | undefined {
    const partial = this.#partial;
    const isContinued = partial.length > 0;
    if (isContinued) partial.add(piece, limit + piece.length);
    const bytes = isContinued ? partial.bytes : piece;
    if (bytes.length < Math.min(this.#scanFrom, limit)) return undefined;
    const taken = this.#taken;
    const end = this.#scan(bytes);
    if (end === TOO_WIDE) return tooWide();
    if (isContinued) partial.drop(end);
    else partial.add(piece.subarray(end));
    this.#scanFrom = partial.length > RESCANNED_BYTES ? 2 * partial.length : 0;
    this.#bytesSinceRow = this.#taken > taken ? 0 : this.#bytesSinceRow + end;
    return partial.length + this.#bytesSinceRow > limit
      ? unreadable('the result file has a row that is larger than allowed, or is not CSV')
      : undefined;
  }

  /** Takes the whole rows. @returns the start of the rest, or TOO_WIDE */
  #scan(bytes: Buffer): number {
    let at = 0;
    if (!this.#begun) {
      if (bytes.length < BYTE_ORDER_MARK.length) return at;
      if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
        at = BYTE_ORDER_MARK.length;
      this.#begun = true;
    }
    while (at < bytes.length) {
      const next = this.#scanner.scan(bytes, at);
      if (next === NOT_WHOLE) break;
      if (next === TOO_WIDE) return next;
      this.#take();
      at = next;
    }
    return at;
  }

  /** Takes the scanned row, unless it is an empty line, or the header. */
  #take(): void {
    if (this.#scanner.cells === 0) return;
    this.#taken++;
    if (this.#decisions !== undefined) {
      this.#decisions.write(this.#scanner, this.#job as JobContext, this.#slice);
      return;
    }
    const { settings, seenColumns, onNotice } = this.#shared;
    const names = this.#scanner.texts();
    const wanted = { ...settings, referenceColumn: REFERENCE_COLUMN };
    const header = readResultHeader(names, wanted, seenColumns);
    this.#decisions = new RowDecisions(header, names, settings, onNotice);
    this.#referenceColumn = header.reference;
  }

  #end(): ServiceError | undefined {
    this.close();
    const { lastRows } = this.#shared;
    const partial = this.#partial;
    this.#begun ||= partial.length < BYTE_ORDER_MARK.length;
    const end = this.#scan(partial.bytes);
    if (end === TOO_WIDE) return tooWide();
    partial.drop(end);
    const endsLine = partial.length === 0;
    if (!endsLine) {
      partial.add(LINE_END);
      const next = this.#scanner.scan(partial.bytes, 0);
      if (next === TOO_WIDE) return tooWide();
      if (next === NOT_WHOLE)
        return unreadable('the result file is truncated: it ends inside a quoted cell');
      if (this.#decisions !== undefined && !this.#isWhole(this.#decisions))
        return unreadable(
          'the result file is truncated or has no final line end: its last row may not be whole',
        );
      this.#take();
    }
    if (this.#decisions === undefined)
      return unreadable('the result file is empty: it has no header');
    if (endsLine && this.#expectedRows === this.#taken - 1) lastRows.endedLine();
    return undefined;
  }

  /** True if the scanned row, which has no line end, is not cut. */
  #isWhole(decisions: RowDecisions): boolean {
    const row = this.#scanner;
    const column = this.#referenceColumn;
    // Only a CR was left.
    if (row.cells === 0) return false;
    if (column === row.cells - 1 && decisions.isAuthentic(row, this.#job as JobContext))
      return true;
    const reference = column < row.cells ? row.text(column) : '';
    // The header is taken, too.
    const more = this.#taken < (this.#expectedRows ?? 0);
    return this.#shared.lastRows.isWhole(row, reference, more);
  }
}

function tooWide(): ServiceError {
  return unreadable(`the result file has a row of more than ${MAX_COLUMNS} columns, or is not CSV`);
}
