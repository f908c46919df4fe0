/**
 * Strict CSV (RFC 4180) out of csv-parse, with the line at which each record begins. csv-parse's own count of lines takes a
 * CRLF inside a quoted cell for two, and knows only where a record ends.
 */
import { type CsvError, Parser } from 'csv-parse';

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

export interface CsvRecord {
  readonly cells: readonly string[];
  /** From 1: where it begins. */
  readonly line: number;
  /** undefined for a last line without a line end. */
  readonly lineEnd: LineEnd | undefined;
  /** Nothing but a line end: its one cell has not even quotes. */
  readonly blank: boolean;
}

export type LineEnd = 'CRLF' | 'LF';

/** Where reading had to stop. */
export interface CsvProblem {
  readonly code: string;
  /** The line, and the number from 1, of the cell that could not be read. */
  readonly line: number;
  readonly cell: number;
}

/** As many as a spreadsheet has; results of more columns are not read either. */
export const MAX_COLUMNS = 16_384;

export class CsvRecords {
  readonly #maxRecordBytes: number;
  readonly #parser: CheckedRecords;
  readonly #ends: { readonly cells: string[]; readonly end: number }[] = [];
  readonly #window = new Window();

  /** @param maxRecordBytes a larger record is the problem CSV_MAX_RECORD_SIZE; one of more than MAX_COLUMNS is TOO_MANY_COLUMNS. */
  constructor(maxRecordBytes: number, { strict = true }: { readonly strict?: boolean } = {}) {
    this.#maxRecordBytes = maxRecordBytes;
    this.#parser = new CheckedRecords(
      {
        bom: false,
        // Both kinds of line end; a CR alone is content.
        record_delimiter: ['\r\n', '\n'],
        // The caller tells rows of another length.
        relax_column_count: true,
        relax_quotes: !strict,
        skip_empty_lines: !strict,
        max_record_size: maxRecordBytes,
      },
      (cells, end) => this.#ends.push({ cells, end }),
    );
  }

  /** The records that end in this chunk. After a problem nothing more may be fed. */
  async feed(
    chunk: Buffer,
  ): Promise<{ readonly records: readonly CsvRecord[]; readonly problem?: CsvProblem }> {
    this.#window.append(chunk);
    const error = await this.#parser.feed(chunk);
    return this.#result(error);
  }

  /** The last record, when no line end follows it. */
  async finish(): Promise<{
    readonly records: readonly CsvRecord[];
    readonly problem?: CsvProblem;
  }> {
    return this.#result(await this.#parser.finish());
  }

  close(): void {
    this.#parser.destroy();
  }

  /** csv-parse counts what is in cells: empty ones and blank lines take memory too. */
  #exceeded(records: readonly CsvRecord[]): string | undefined {
    const isTooWide =
      this.#parser.cells > MAX_COLUMNS || records.some(({ cells }) => cells.length > MAX_COLUMNS);
    if (isTooWide) return 'TOO_MANY_COLUMNS';
    // Every byte may be a quote, which is written twice.
    return this.#window.pending > 2 * this.#maxRecordBytes + 3 * MAX_COLUMNS
      ? 'CSV_MAX_RECORD_SIZE'
      : undefined;
  }

  #result(error: Error | undefined) {
    const records = this.#ends.splice(0).map(({ cells, end }): CsvRecord => {
      const { line } = this.#window;
      const { bytes, lineEnd } = this.#window.advance(end);
      return {
        cells,
        line,
        lineEnd,
        blank: bytes === (lineEnd === 'CRLF' ? 2 : 1) && lineEnd !== undefined,
      };
    });
    const limit = this.#exceeded(records);
    if (limit !== undefined)
      return { records: [], problem: { code: limit, line: this.#window.line, cell: 1 } };
    if (error === undefined) return { records };
    const { code, bytes, column } = error as CsvError;
    if (typeof code !== 'string' || typeof bytes !== 'number') throw error;
    this.#window.advance(bytes);
    return {
      records,
      problem: { code, line: this.#window.line, cell: typeof column === 'number' ? column + 1 : 1 },
    };
  }
}

type ParserOptions = ConstructorParameters<typeof Parser>[0];

class CheckedRecords extends Parser {
  readonly #onRecord: (cells: string[], end: number) => void;

  constructor(options: ParserOptions, onRecord: (cells: string[], end: number) => void) {
    super(options);
    this.#onRecord = onRecord;
    // Errors are told by feed and finish; a stream without a listener would throw them.
    this.on('error', () => {});
  }

  /** So far, of the record that has not ended. */
  get cells(): number {
    return (this as unknown as { readonly state: { readonly record: readonly unknown[] } }).state
      .record.length;
  }

  /** Straight to the caller: a stream's buffer costs time. */
  override push(cells: string[] | null): boolean {
    if (cells !== null) this.#onRecord(cells, this.info.bytes);
    return true;
  }

  feed(chunk: Buffer): Promise<Error | undefined> {
    return new Promise((resolve) => {
      this.write(chunk, (error) => resolve(error ?? undefined));
    });
  }

  finish(): Promise<Error | undefined> {
    return new Promise((resolve) => {
      // An error in the last record may come as an event before it comes to the callback.
      this.once('error', resolve);
      this.end((error?: Error | null) => resolve(error ?? undefined));
    });
  }
}

/** The bytes from the end of the last record on, and the line in which they begin. Keeps what it is given, and copies nothing. */
class Window {
  line = 1;
  readonly #pieces: Buffer[] = [];
  #offset = 0;
  #appended = 0;

  append(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#appended += piece.length;
  }

  /** Bytes that are kept. */
  get pending(): number {
    return this.#appended - this.#offset;
  }

  /** Moves on to an offset in the file. @returns how far that was, and the line end before it */
  advance(offset: number): { readonly bytes: number; readonly lineEnd: LineEnd | undefined } {
    const bytes = offset - this.#offset;
    let last = 0;
    let before = 0;
    while (this.#offset < offset) {
      const [piece] = this.#pieces;
      if (piece === undefined) throw new RangeError('moved behind what was appended');
      const taken = piece.subarray(0, offset - this.#offset);
      for (let at = taken.indexOf(LINE_FEED); at >= 0; at = taken.indexOf(LINE_FEED, at + 1))
        this.line += 1;
      before = taken.at(-2) ?? last;
      last = taken.at(-1) ?? last;
      this.#offset += taken.length;
      if (taken.length === piece.length) this.#pieces.shift();
      else this.#pieces[0] = piece.subarray(taken.length);
    }
    const lineEnd = last !== LINE_FEED ? undefined : before === CARRIAGE_RETURN ? 'CRLF' : 'LF';
    return { bytes, lineEnd };
  }
}
