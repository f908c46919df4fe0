import { type CsvError, Parser } from 'csv-parse';

const LINE_FEED = 0x0a;
const SLICE_BYTES = 64 * 1024;
/** Largest number of columns, that of spreadsheets. */
const MAX_COLUMNS = 16_384;

/** Record of a CSV file. */
export interface CsvRecord {
  readonly cells: readonly string[];
  /** Line in which it begins, from 1. */
  readonly line: number;
  /** undefined for a last line without a line end. */
  readonly lineEnd: 'CRLF' | 'LF' | undefined;
  /** A line end alone. */
  readonly isBlank: boolean;
}

/** Place and kind of the first violation of RFC 4180. */
export class CsvViolation extends Error {
  /** Code of csv-parse. */
  readonly code: string;
  /** Line in which the cell begins, from 1. */
  readonly line: number;
  /** Number of the cell in its record, from 1. */
  readonly cell: number;

  constructor(code: string, line: number, cell: number) {
    super(code);
    this.code = code;
    this.line = line;
    this.cell = cell;
  }
}

/**
 * Parses strict CSV (RFC 4180) with csv-parse, and counts lines: csv-parse counts a CRLF inside a quoted cell twice, and has
 * only the line in which a record ends.
 * @param maxRecordBytes a larger record is the violation CSV_MAX_RECORD_SIZE.
 * @throws CsvViolation
 */
export async function* csvRecords(
  chunks: AsyncIterable<Buffer>,
  maxRecordBytes: number,
): AsyncGenerator<CsvRecord, void, undefined> {
  const parsed: { readonly cells: string[]; readonly end: number }[] = [];
  const parser = new Parser({
    bom: false,
    // A CR alone is content.
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    max_record_size: maxRecordBytes,
    on_record: (cells: string[], { bytes }) => {
      parsed.push({ cells, end: bytes });
      return null;
    },
  });
  // Errors come to the callbacks of write and end; a stream without a listener would throw them.
  parser.on('error', () => {});

  /** Bytes from the end of the last record on, their offset and their line. */
  let pending: Buffer = Buffer.alloc(0);
  let offset = 0;
  let line = 1;
  const advance = (end: number): Buffer => {
    const passed = pending.subarray(0, end - offset);
    pending = pending.subarray(passed.length);
    offset = end;
    for (let at = passed.indexOf(LINE_FEED); at >= 0; at = passed.indexOf(LINE_FEED, at + 1))
      line += 1;
    return passed;
  };
  function* taken(error?: Error | null): Generator<CsvRecord, void, undefined> {
    for (const { cells, end } of parsed.splice(0)) {
      // csv-parse limits the contents of cells: those of quotes take half of their bytes.
      if (end - offset > maxRecordBytes) throw new CsvViolation('CSV_MAX_RECORD_SIZE', line, 1);
      const begin = line;
      const ending = advance(end).subarray(-3).toString('latin1');
      const [lineEnd] = /\r?\n$/.exec(ending) ?? [];
      yield {
        cells,
        line: begin,
        lineEnd: lineEnd === undefined ? undefined : lineEnd === '\n' ? 'LF' : 'CRLF',
        isBlank: ending === lineEnd,
      };
    }
    // csv-parse limits the contents of cells, but empty cells have none.
    const { record }: { readonly record: readonly unknown[] } = Reflect.get(parser, 'state');
    if (record.length > MAX_COLUMNS) throw new CsvViolation('TOO_MANY_COLUMNS', line, 1);
    if (!error) return;
    const { code, bytes, column } = error as CsvError;
    if (typeof bytes !== 'number') throw error;
    advance(bytes);
    throw new CsvViolation(code, line, typeof column === 'number' ? column + 1 : 1);
  }

  try {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        const slice = chunk.subarray(at, at + SLICE_BYTES);
        pending = Buffer.concat([pending, slice]);
        yield* taken(await new Promise((resolve) => void parser.write(slice, resolve)));
      }
    }
    yield* taken(
      await new Promise((resolve) => {
        // An error in the last record may come as an event before it comes to the callback.
        parser.once('error', resolve);
        parser.end(resolve);
      }),
    );
  } finally {
    parser.destroy();
  }
}
