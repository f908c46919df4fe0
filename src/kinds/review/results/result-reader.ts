/** Reads one result file piece by piece. */

import { createHash } from 'node:crypto';
import { isJsonContainer } from '../../../../packages/client/src/base/json/parse-json.ts';
import {
  REFERENCE_COLUMN,
  readResultHeader,
  unreadable,
  type WantedColumns,
} from '../../../../packages/client/src/results/result-header.ts';
import { NOT_WHOLE, RowScanner } from '../../../../packages/client/src/results/row-scanner.ts';
import type { ResultColumns } from '../../../core/bytes/result-slice.ts';
import { SliceWriter } from '../../../core/bytes/slice-writer.ts';
import type { JobContext } from '../../../core/ports/pipeline-kind.ts';
import { type ResultNotice, RowDecisions } from './row-decisions.ts';

// Limits on the memory for incomplete rows. A row in a result file is limited by the size of the
// upload. Only one file in the process may hold a large row at a time.

/** Maximum size of an incomplete row that a file may hold without a turn. */
const LARGE_BYTES = 1024 * 1024;
/** Maximum factor by which a row grows if the service quotes its cells. */
const GROWTH = 2;
/** Maximum size of the result, labels and columns that the service adds to a row. */
const ADDED_BYTES = 2 * 1024 * 1024;
const MOST_BYTES = 64 * 1024 * 1024;

/** Returns the maximum size in bytes of a row in a job's result file. */
export function maxRowBytes({ uploadedBytes = MOST_BYTES }: JobContext): number {
  return Math.min(GROWTH * uploadedBytes + ADDED_BYTES, MOST_BYTES);
}

/** Number of rows allowed beyond the rows that fit into the upload, and minimum size of a row. */
const ADDED_ROWS = 1_000;
const LEAST_ROW_BYTES = 32;

/** Returns the maximum number of rows in a job's result file. Each malformed row becomes an object in memory. */
function maxRows({ uploadedBytes = MOST_BYTES }: JobContext): number {
  return ADDED_ROWS + uploadedBytes / LEAST_ROW_BYTES;
}

/** Resolves when all turns so far have ended. */
let turns: Promise<void> = Promise.resolve();

/** Waits until this file may hold a large row. @returns a function that ends the turn */
export async function largeRowTurn(): Promise<() => void> {
  const before = turns;
  const turn = Promise.withResolvers<void>();
  turns = turn.promise;
  await before;
  return turn.resolve;
}

// Buffer for the start of an incomplete row. Its memory is reused.

/** Maximum size of the memory that is kept for the next row. */
const KEPT_BYTES = 256 * 1024;

class PartialRow {
  #room: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** View of the bytes, valid until the next change. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.#length);
  }

  /** @param most maximum total number of bytes, if known */
  add(from: Buffer, most = Infinity): void {
    const length = this.#length + from.length;
    if (length > this.#room.length) {
      const likely = Math.min(this.#room.length * 2, most);
      const larger = Buffer.allocUnsafeSlow(Math.max(length, likely));
      this.bytes.copy(larger);
      this.#room = larger;
    }
    from.copy(this.#room, this.#length);
    this.#length = length;
  }

  /** Removes the first bytes. */
  drop(first: number): void {
    const rest = this.bytes.subarray(first);
    this.#length = rest.length;
    if (this.#room.length > KEPT_BYTES && rest.length <= KEPT_BYTES / 2)
      this.#room = Buffer.from(rest);
    else rest.copy(this.#room);
  }
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** Number of bytes to collect before the check for a byte order mark. */
const HEAD_BYTES = 4;
const LINE_END = Buffer.from('\n');
/** Growth after which a partial row is scanned again. A file may arrive byte by byte, so not every piece is scanned. */
const RESCAN_GROWTH = 1.125;
/** Size in bytes above which LONG_RESCAN_GROWTH applies. */
const LONG_BYTES = 128 * 1024;
const LONG_RESCAN_GROWTH = 2;

/** Memory per byte of a partial row. Its buffer doubles when full. */
const HELD_PER_BYTE = 3;

/** Settings for all result files of a pipeline. They are plain values, so they can be sent to a thread. */
export interface ResultSettings extends Pick<WantedColumns, 'resultColumn'> {
  /** Name of the source topic. */
  readonly topic: string;
}

/** Properties of one download of a result file. */
export interface FileFacts {
  /** Number of rows that the service reported. undefined if it reported none. */
  readonly expectedRows: number | undefined;
  /** Digest of a last row that counts as complete without a line end, because several downloads ended with it. */
  readonly wholeRow?: string | undefined;
}

/** Rows of a piece, and the problem that ended the file in this piece, if any. */
export interface ReadRows {
  readonly rows: ResultColumns | undefined;
  /** Memory in bytes of a large incomplete row; 0 if there is none. */
  readonly held: number;
  /** Deviations from the interface, without duplicates. */
  readonly notices: readonly ResultNotice[];
  /** True at the end of a complete file that has a final line end. */
  readonly endsLine: boolean;
  /** Digest of a last row that was not processed because it has no line end. */
  readonly unendedRow: string | undefined;
  /** Reason to stop reading: a ServiceError or a bug. undefined if reading can continue. */
  readonly problem: unknown;
}

export class ResultReader {
  readonly #settings: ResultSettings;
  readonly #facts: FileFacts;
  readonly #slice = new SliceWriter();
  readonly #scanner = new RowScanner();
  readonly #partial = new PartialRow();
  #notices = new Map<string, ResultNotice>();
  /** Size at which the partial row is scanned next. */
  #scanFrom = 0;
  /** True once the start of the file has been checked for a byte order mark. */
  #begun = false;
  /** Writer of decisions, and index of the reference column. Set when the header has been read. */
  #decisions: RowDecisions | undefined;
  #referenceColumn = -1;
  #job: JobContext | undefined;
  #taken = 0;
  #endsLine = false;
  #unendedRow: string | undefined;
  /** Number of bytes read since the last row. It is limited, because empty lines take time too. */
  #bytesSinceRow = 0;
  /** Ends this file's turn for a large row. */
  #endTurn: (() => void) | undefined;

  constructor(settings: ResultSettings, facts: FileFacts) {
    this.#settings = settings;
    this.#facts = facts;
  }

  /**
   * Reads the next piece. Resolves when the file may continue: a file with a large row first waits
   * for its turn.
   * @param job context for the decisions of the piece's rows
   */
  async read(piece: Buffer, job: JobContext): Promise<ReadRows> {
    this.#job = job;
    const read = this.#rowsOf(() => this.#read(piece, maxRowBytes(job)));
    if (this.#partial.length > LARGE_BYTES) this.#endTurn ??= await largeRowTurn();
    else this.close();
    return read;
  }

  /** Must be called after the last piece. */
  async end(): Promise<ReadRows> {
    return this.#rowsOf(() => this.#end());
  }

  /** Must be called once no more pieces will be read. Idempotent. */
  close(): void {
    this.#endTurn?.();
    this.#endTurn = undefined;
  }

  #rowsOf(step: () => void): ReadRows {
    let problem: unknown;
    try {
      step();
    } catch (error) {
      problem = error;
    }
    const notices = [...this.#notices.values()];
    this.#notices.clear();
    const { length } = this.#partial;
    const held = length > LARGE_BYTES ? HELD_PER_BYTE * length : 0;
    const [rows, endsLine, unendedRow] = [this.#slice.finish(), this.#endsLine, this.#unendedRow];
    return { rows, held, notices, problem, endsLine, unendedRow };
  }

  #read(piece: Buffer, limit: number): void {
    const partial = this.#partial;
    const isContinued = partial.length > 0;
    if (isContinued) partial.add(piece, limit + piece.length);
    const bytes = isContinued ? partial.bytes : piece;
    if (bytes.length < Math.min(this.#scanFrom, limit)) return;
    const taken = this.#taken;
    const end = this.#scan(bytes);
    if (isContinued) partial.drop(end);
    else partial.add(piece.subarray(end));
    const growth = partial.length > LONG_BYTES ? LONG_RESCAN_GROWTH : RESCAN_GROWTH;
    this.#scanFrom = growth * partial.length;
    this.#bytesSinceRow = this.#taken > taken ? 0 : this.#bytesSinceRow + end;
    if (partial.length + this.#bytesSinceRow > limit)
      throw unreadable('the result file has a row that is larger than allowed, or is not CSV');
  }

  /** Processes all complete rows. @returns the start of the rest */
  #scan(bytes: Buffer): number {
    let at = 0;
    if (!this.#begun) {
      if (bytes.length < HEAD_BYTES) return at;
      if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK))
        at = BYTE_ORDER_MARK.length;
      this.#begun = true;
    }
    while (at < bytes.length) {
      const next = this.#scanner.scan(bytes, at);
      if (next === NOT_WHOLE) break;
      this.#take();
      at = next;
    }
    return at;
  }

  /** Processes the scanned row, unless it is an empty line. The first row is the header. */
  #take(): void {
    if (this.#scanner.cells === 0) return;
    const job = this.#job as JobContext;
    if (++this.#taken > maxRows(job))
      throw unreadable('the result file has far more rows than were uploaded');
    if (this.#decisions !== undefined) {
      this.#decisions.write(this.#scanner, job, this.#slice);
      return;
    }
    const { topic, resultColumn } = this.#settings;
    const names = this.#scanner.texts();
    const header = readResultHeader(names, { resultColumn, referenceColumn: REFERENCE_COLUMN });
    this.#decisions = new RowDecisions(header, names, topic, (notice) =>
      this.#notices.set(`${notice.kind} ${notice.value}`, notice),
    );
    this.#referenceColumn = header.reference;
  }

  #end(): void {
    this.close();
    const partial = this.#partial;
    this.#begun ||= partial.length < HEAD_BYTES;
    const end = this.#scan(partial.bytes);
    partial.drop(end);
    const endsLine = partial.length === 0;
    if (!endsLine) {
      partial.add(LINE_END);
      const next = this.#scanner.scan(partial.bytes, 0);
      if (next === NOT_WHOLE)
        throw unreadable('the result file is truncated: it ends inside a quoted cell');
      if (this.#decisions !== undefined && !this.#isWhole(this.#decisions)) {
        this.#unendedRow = digestOf(partial.bytes);
        throw unreadable(
          'the result file is truncated or has no final line end: its last row may be incomplete',
        );
      }
      this.#take();
    }
    if (this.#decisions === undefined)
      throw unreadable('the result file is empty: it has no header');
    this.#endsLine = endsLine && this.#facts.expectedRows === this.#taken - 1;
  }

  /**
   * Returns true if the scanned row is complete although it has no line end. RFC 4180 allows such a
   * file, but a truncated file looks the same: `approved` cut to `approv` would become a result.
   */
  #isWhole(decisions: RowDecisions): boolean {
    const row = this.#scanner;
    const last = row.cells - 1;
    // The row has no cells if only a CR was left over.
    if (last === -1 || row.cells < decisions.columns) return false;
    if (this.#referenceColumn === last && decisions.isAuthentic(row, this.#job as JobContext))
      return true;
    // The end of a list or an object is unmistakable.
    if (isJsonContainer(row.text(last))) return true;
    const { expectedRows = 0, wholeRow } = this.#facts;
    // `#taken` includes the header.
    return this.#taken >= expectedRows && wholeRow === digestOf(this.#partial.bytes);
  }
}

const digestOf = (row: Buffer): string => createHash('sha256').update(row).digest('base64');
