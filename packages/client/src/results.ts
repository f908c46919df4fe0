import { foreignFormat } from './base/foreign-format.ts';
import { parseJson } from './base/json/parse-json.ts';
import type { ClientCallOptions } from './options.ts';
import { CsvParser } from './results/csv-parser.ts';
import { readLabels } from './results/labels.ts';
import {
  knownStatus,
  type RowShape,
  readResultHeader,
  shapeOf,
  unreadable,
} from './results/result-header.ts';

/** Label of a reviewed row. */
export interface ResultLabel {
  readonly name: string;
  readonly applied: boolean;
  readonly explanation: string | null;
}

/** Row of a result file. */
export interface ReviewedRow {
  /** Number in the file; the first row below the header is 1. */
  readonly row: number;
  readonly content: string | null;
  /** SUCCESS or ERROR; any other status as in the file. */
  readonly status: string;
  readonly result: string | null;
  readonly expectedResult: string | null;
  /** Labels, read from any of the forms that the cell may have; `labelsText` is the cell itself. */
  readonly labels: readonly ResultLabel[];
  /** `labels` as JSON; numbers keep all of their digits. */
  readonly labelsJson: string;
  readonly labelsText: string;
  /** Other columns by header, uploaded columns with a name of the service's included. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Row with more or fewer cells than the header. */
export interface RaggedRow {
  readonly row: number;
  readonly cells: number;
  readonly expectedCells: number;
}

/** Options of `results`. */
export interface ResultsOptions extends ClientCallOptions {
  /** Header of the result. Default: the header that ends in ` result` and is not `Expected result`; of several the first after `Status`. */
  readonly resultColumn?: string | undefined;
  /** Called with each ragged row, which is then left out. Default: a ragged row is a ProtocolError. */
  readonly onMalformedRow?: (row: RaggedRow) => void;
  /** Called with the bytes of the file, each once and before their rows, to keep the file as well; awaited. */
  readonly onChunk?: (chunk: Uint8Array) => void | Promise<void>;
  /** Largest row in bytes. Default 64 MiB. */
  readonly maxRowBytes?: number;
}

const DEFAULT_MAX_ROW_BYTES = 64 * 1024 * 1024;
const SLICE_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/**
 * Parses a result file.
 * @param expectedRows rows that the service counted, once the file is read; undefined when it does not count them.
 * @throws ServiceError `protocol` for an invalid or incomplete file, after its whole rows.
 */
export async function* resultRows(
  bytes: AsyncIterable<Buffer>,
  expectedRows: () => number | undefined,
  options: ResultsOptions,
): AsyncGenerator<ReviewedRow, void, undefined> {
  const records: string[][] = [];
  // csv-parse would put U+FFFD in the place of other bytes.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const parser = new CsvParser(records, options.maxRowBytes ?? DEFAULT_MAX_ROW_BYTES);
  let names: readonly string[] | undefined;
  let shape: RowShape | undefined;
  let rows = 0;

  function* taken(): Generator<ReviewedRow, void, undefined> {
    for (const record of records.splice(0)) {
      if (names === undefined) {
        readResultHeader(record, options);
        names = record;
        continue;
      }
      shape ??= shapeOf(names, record, options.resultColumn);
      const row = rowOf(shape, record, ++rows, options.onMalformedRow);
      if (row !== undefined) yield row;
    }
  }

  try {
    let lastByte: number | undefined;
    for await (const chunk of bytes) {
      await options.onChunk?.(chunk);
      const foreign = lastByte === undefined ? foreignFormat(chunk) : undefined;
      if (foreign !== undefined) throw unreadable(`the result file ${foreign.what}`);
      try {
        decoder.decode(chunk, { stream: true });
      } catch {
        throw unreadable('the result file is not UTF-8 (Windows-1252 or Latin-1, perhaps)');
      }
      lastByte = chunk.at(-1) ?? lastByte;
      for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
        const problem = await parser.feed(chunk.subarray(start, start + SLICE_BYTES));
        yield* taken();
        if (problem !== undefined) throw problem;
      }
    }
    const problem = await parser.finish();
    // Without a line end the last row may be a piece of one.
    const last = lastByte === LINE_FEED ? undefined : records.at(-1);
    const isPiece = (row: readonly string[]) =>
      row.length < (names?.length ?? 0) || endsWithinCharacter(decoder);
    const isCut = last !== undefined && names !== undefined && isPiece(last);
    const expected = expectedRows() ?? 0;
    const isShort = rows + records.length - (names === undefined ? 1 : 0) < expected;
    if (isCut || (isShort && last !== undefined && names !== undefined)) records.pop();
    yield* taken();

    if (problem !== undefined) throw problem;
    if (names === undefined) throw unreadable('the result file is empty: it has no header');
    if (isShort)
      throw unreadable(
        `the result file has ${rows} whole rows, but the service counted ${expected}`,
      );
    if (isCut) throw unreadable('the result file ends within a row');
  } finally {
    parser.destroy();
  }
}

function endsWithinCharacter(decoder: TextDecoder): boolean {
  try {
    decoder.decode();
    return false;
  } catch {
    return true;
  }
}

function rowOf(
  { header, metadata }: RowShape,
  cells: readonly string[],
  row: number,
  onMalformedRow: ResultsOptions['onMalformedRow'],
): ReviewedRow | undefined {
  if (cells.length !== header.width) {
    if (onMalformedRow === undefined)
      throw unreadable(
        `row ${row} of the result file has ${cells.length} cells, its header ${header.width}`,
      );
    onMalformedRow({ row, cells: cells.length, expectedCells: header.width });
    return undefined;
  }
  const labelsText = cells[header.labels] ?? '';
  const { json: labelsJson } = readLabels(labelsText);
  return {
    row,
    content: cells[header.content] ?? null,
    status: knownStatus(cells[header.status] ?? '') ?? cells[header.status] ?? '',
    result: cells[header.result] || null,
    expectedResult: cells[header.expected] || null,
    labels: parseJson(labelsJson) as ResultLabel[],
    labelsJson,
    labelsText,
    metadata: Object.fromEntries(metadata.map(({ name, index }) => [name, cells[index] ?? ''])),
  };
}
