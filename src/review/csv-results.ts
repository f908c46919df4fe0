/**
 * Result files as they stream in (service-interface.md 2.3): csv-parse in its array mode, fed slice by slice, so that no
 * more than a slice's rows are in memory.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Parser } from 'csv-parse';
import type { JobContext } from '../core/ports/pipeline-kind.ts';
import type { ReadRow } from '../core/read-row.ts';
import type { ServiceError } from '../core/service-error.ts';
import type { DecisionRenderer } from './decision.ts';
import type { LastRows } from './last-row.ts';
import { readResultHeader, type SeenColumns, unreadable, type WantedColumns } from './result-header.ts';
import { type ResultNotice, ResultRowReader } from './result-row.ts';

export interface ResultFileOptions extends WantedColumns {
  /** A row larger than this means that the file is not what it should be (a quote that never closes). */
  readonly maxRowBytes: number;
  readonly renderer: DecisionRenderer;
  readonly onNotice: (notice: ResultNotice) => void;
  /** Shared by all downloads of a pipeline. */
  readonly lastRows: LastRows;
  /** Likewise. */
  readonly seenColumns: SeenColumns;
  /** Asked for each slice. */
  readonly job: () => JobContext;
  /** Rows that the service says it wrote; undefined when it does not say. */
  readonly expectedRows?: number | undefined;
}

/** Bytes parsed in one go: a millisecond or less. */
const SLICE_BYTES = 64 * 1024;
/** As many as a spreadsheet has. */
const MAX_COLUMNS = 16_384;
/** Bytes between two turns of the event loop, for a source that always has more at hand. */
const TURN_BYTES = 512 * 1024;

/**
 * Yields the rows of a result file, a slice at a time.
 * @throws ServiceError protocol when the file has no usable header, ends inside a quote or in a row that may not be whole, or has a row that is too large;
 * whatever the source throws. All rows before that were yielded.
 */
export async function* readResults(
  source: AsyncIterable<Buffer>,
  options: ResultFileOptions,
): AsyncGenerator<readonly ReadRow[], void, undefined> {
  const records: string[][] = [];
  const parser = new RecordParser(records, options.maxRowBytes);
  let reader: ResultRowReader | undefined;
  let referenceColumn = 0;
  let taken = 0;

  const takeRows = (): ReadRow[] => {
    const rows: ReadRow[] = [];
    let job: JobContext | undefined;
    for (const record of records) {
      if (reader === undefined) {
        const header = readResultHeader(record, options, options.seenColumns);
        referenceColumn = header.reference;
        reader = new ResultRowReader(header, record, options.renderer, options.onNotice);
      } else {
        job ??= options.job();
        rows.push(reader.read(record, job));
      }
    }
    taken += rows.length;
    records.length = 0;
    return rows;
  };

  try {
    let sinceTurn = 0;
    let lastByte: number | undefined;
    for await (const chunk of source) {
      lastByte = chunk.at(-1) ?? lastByte;
      for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
        const slice = chunk.subarray(start, start + SLICE_BYTES);
        const problem = await parser.feed(slice);
        const rows = takeRows();
        if (rows.length > 0) yield rows;
        if (problem !== undefined) throw problem;
        sinceTurn += slice.length;
        if (sinceTurn >= TURN_BYTES) {
          sinceTurn = 0;
          await nextTurn();
        }
      }
    }
    let problem = await parser.finish();
    const last = records.at(-1);
    const mayBeCut = problem === undefined && lastByte !== LINE_FEED && reader !== undefined && last !== undefined;
    const came = taken + records.length - (reader === undefined ? 1 : 0);
    const more = came < (options.expectedRows ?? 0);
    if (problem === undefined && lastByte === LINE_FEED && options.expectedRows === came) options.lastRows.endedLine();
    if (mayBeCut && !options.lastRows.isWhole(last, last[referenceColumn] ?? '', more)) {
      records.pop();
      problem = unreadable('the result file is cut, or has no line end at its end: its last row may not be whole');
    }
    const rows = takeRows();
    if (rows.length > 0) yield rows;
    if (problem !== undefined) throw problem;
    if (reader === undefined) throw unreadable('the result file is empty: it has no header');
    reader.finish();
  } finally {
    parser.destroy();
  }
}

/** csv-parse, with its records put into an array instead of a stream's buffer: that is a fifth faster. */
export class RecordParser extends Parser {
  readonly #records: string[][];
  readonly #maxRowBytes: number;
  /** Bytes of the unfinished row, in whole slices: csv-parse counts the contents of cells, and an empty cell takes memory too. */
  #rowBytes = 0;
  #rowEnded = false;
  #isTooWide = false;

  constructor(records: string[][], maxRowBytes: number) {
    super({
      bom: true,
      // Both kinds of line end, also in one file; a CR alone is content.
      record_delimiter: ['\r\n', '\n'],
      // Rows of another length are malformed rows, not the end of the file.
      relax_column_count: true,
      // A quote inside a cell without quotes around it is content.
      relax_quotes: true,
      skip_empty_lines: true,
      max_record_size: maxRowBytes,
    });
    this.#records = records;
    this.#maxRowBytes = maxRowBytes;
    specialise(this);
    // Errors are told by feed and finish; a stream without a listener would throw them.
    this.on('error', () => {});
  }

  override push(record: string[] | null): boolean {
    if (record === null) return true;
    this.#rowEnded = true;
    this.#isTooWide ||= record.length > MAX_COLUMNS;
    if (!this.#isTooWide) this.#records.push(record);
    return true;
  }

  /** Resolves when the slice is parsed, with what is wrong with the file. */
  async feed(slice: Buffer): Promise<ServiceError | undefined> {
    this.#rowEnded = false;
    const problem = await new Promise<ServiceError | undefined>((resolve) => {
      this.write(slice, (error) => resolve(error ? problemOf(error) : undefined));
    });
    this.#rowBytes = this.#rowEnded ? 0 : this.#rowBytes + slice.length;
    return this.#limitProblem() ?? problem ?? (this.#rowBytes > this.#maxRowBytes ? tooLarge() : undefined);
  }

  async finish(): Promise<ServiceError | undefined> {
    const problem = await new Promise<ServiceError | undefined>((resolve) => {
      // An error in the last record may come as an event before it comes to the callback.
      this.once('error', (error) => resolve(problemOf(error)));
      this.end((error?: Error | null) => resolve(error ? problemOf(error) : undefined));
    });
    return this.#limitProblem() ?? problem;
  }

  #limitProblem(): ServiceError | undefined {
    const { record } = (this as unknown as { readonly state: { readonly record: readonly unknown[] } }).state;
    if (!this.#isTooWide && record.length <= MAX_COLUMNS) return undefined;
    return unreadable(`the result file has a row of more than ${MAX_COLUMNS} columns, or is not CSV`);
  }
}

interface ByteTests {
  __isQuote?: (buffer: Buffer, at: number) => boolean;
  __isEscape?: (buffer: Buffer, at: number) => boolean;
  __isDelimiter?: (buffer: Buffer, at: number, byte: number) => number;
  __needMoreData?: (at: number, length: number, end: boolean) => boolean;
}

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
/** The longest thing that must not be cut: a closing quote and the line end behind it. */
const LOOK_AHEAD = 3;

/**
 * csv-parse asks these of every byte, through options that may be anything. Here they are one quote, one comma and two line
 * ends, which makes a file a fifth faster. A version without these methods is only slower: nothing else depends on them, and
 * test/property/review holds the rows against a reader of its own.
 */
function specialise(parser: Parser): void {
  const tests = (parser as unknown as { api?: ByteTests }).api;
  if (tests?.__isQuote === undefined || tests.__isEscape === undefined) return;
  if (tests.__isDelimiter === undefined || tests.__needMoreData === undefined) return;
  tests.__isQuote = (buffer, at) => buffer[at] === QUOTE;
  tests.__isEscape = (buffer, at) => buffer[at] === QUOTE;
  tests.__isDelimiter = (_, __, byte) => (byte === COMMA ? 1 : 0);
  tests.__needMoreData = (at, length, end) => !end && length - at - 1 < LOOK_AHEAD;
}

/** csv-parse's messages quote the file, so only its code is told (I6). */
function problemOf(error: Error): ServiceError {
  const code = 'code' in error ? String(error.code) : 'unreadable';
  if (code === 'CSV_QUOTE_NOT_CLOSED') return unreadable('the result file is cut: it ends inside a quoted cell');
  if (code === 'CSV_MAX_RECORD_SIZE') return tooLarge();
  return unreadable(`the result file is not CSV (${code})`);
}

function tooLarge(): ServiceError {
  return unreadable('the result file has a row that is larger than allowed, or is not CSV');
}
