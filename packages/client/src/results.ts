import { isUtf8 } from 'node:buffer';
import { parseJson } from './base/json/parse-json.ts';
import { readLabels } from './results/labels.ts';
import {
  knownStatus,
  type ResultHeader,
  readResultHeader,
  unreadable,
} from './results/result-header.ts';
import { NOT_WHOLE, RowScanner } from './results/row-scanner.ts';
import type { CallOptions } from './service/options.ts';

/** Request for the results of a batch that has none, or none yet. */
export class NoResultsError extends Error {
  override readonly name = 'NoResultsError';
  /** As the service spells it. */
  readonly batchStatus: string;

  constructor(batchStatus: string) {
    super(`the batch has no results: its status is ${batchStatus.slice(0, 64)}`);
    this.batchStatus = batchStatus;
  }
}

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
  /** Other columns by header, also later ones that repeat a name of the service. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Row with more or fewer cells than the header. */
export interface RaggedRow {
  readonly row: number;
  readonly cells: number;
  readonly expectedCells: number;
}

/** Options of `results`. */
export interface ResultsOptions extends CallOptions {
  /** Header of the result. Default: the header that ends in ` result` and is not `Expected result`; of several the first. */
  readonly resultColumn?: string | undefined;
  /** Called with each ragged row, which is then left out. Default: a ragged row is a ServiceError `protocol`. */
  readonly onMalformedRow?: (row: RaggedRow) => void;
  /** Called with the bytes of the file, each once and before their rows, to keep the file as well; awaited. */
  readonly onChunk?: (chunk: Uint8Array) => void | Promise<void>;
  /** Largest row in bytes. Default 64 MiB. */
  readonly maxRowBytes?: number;
}

const DEFAULT_MAX_ROW_BYTES = 64 * 1024 * 1024;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Parses a result file.
 * @param expectedRows rows that the service counted; undefined when it does not count them.
 * @throws ServiceError `protocol` for an invalid or incomplete file, after its whole rows.
 */
export async function* resultRows(
  bytes: AsyncIterable<Buffer>,
  expectedRows: number | undefined,
  options: ResultsOptions,
): AsyncGenerator<ReviewedRow, void, undefined> {
  const { maxRowBytes = DEFAULT_MAX_ROW_BYTES } = options;
  const scanner = new RowScanner();
  let names: readonly string[] = [];
  let header: ResultHeader | undefined;
  let rows = 0;

  function* taken(cells: readonly string[]): Generator<ReviewedRow, void, undefined> {
    if (cells.length === 0) return;
    if (header === undefined) {
      header = readResultHeader(cells, options);
      names = cells;
      return;
    }
    const row = rowOf(header, names, cells, ++rows, options.onMalformedRow);
    if (row !== undefined) yield row;
  }
  /** @returns the start of the rest */
  function* wholeRows(text: Buffer): Generator<ReviewedRow, number, undefined> {
    let at = 0;
    while (at < text.length) {
      const next = scanner.scan(text, at);
      if (next === NOT_WHOLE) break;
      if (!isUtf8(text.subarray(at, next)))
        throw unreadable('the result file is not UTF-8 (Windows-1252 or Latin-1, perhaps)');
      yield* taken(scanner.texts());
      at = next;
    }
    return at;
  }

  let held: Buffer[] = [];
  let heldBytes = 0;
  /** A long row is scanned again only when it has doubled. */
  let scanFrom = BYTE_ORDER_MARK.length;
  /** Empty lines take time as well. */
  let bytesSinceRow = 0;
  let isBegun = false;
  const rest = (): Buffer => {
    const text = Buffer.concat(held);
    const hasMark = !isBegun && text.indexOf(BYTE_ORDER_MARK) === 0;
    isBegun = true;
    return hasMark ? text.subarray(BYTE_ORDER_MARK.length) : text;
  };
  for await (const chunk of bytes) {
    await options.onChunk?.(chunk);
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < Math.min(scanFrom, maxRowBytes)) continue;
    const before = rows;
    const text = rest();
    const end = yield* wholeRows(text);
    held = [text.subarray(end)];
    heldBytes = text.length - end;
    scanFrom = 2 * heldBytes;
    bytesSinceRow = rows > before ? 0 : bytesSinceRow + end;
    if (heldBytes + bytesSinceRow > maxRowBytes)
      throw unreadable('the result file has a row that is larger than allowed, or is not CSV');
  }

  let text = rest();
  text = text.subarray(yield* wholeRows(text));
  const expected = expectedRows ?? 0;
  let isCut = false;
  if (text.length > 0) {
    // Without a line end the last row may be a piece of one.
    if (scanner.scan(Buffer.concat([text, Buffer.from('\n')]), 0) === NOT_WHOLE)
      throw unreadable('the result file is truncated: it ends inside a quoted cell');
    const cells = scanner.texts();
    isCut = cells.length < names.length || !isUtf8(text);
    if (!isCut && rows + 1 >= expected) yield* taken(cells);
  }
  if (header === undefined) throw unreadable('the result file is empty: it has no header');
  if (rows < expected)
    throw unreadable(`the result file has ${rows} whole rows, but the service counted ${expected}`);
  if (isCut) throw unreadable('the result file ends within a row');
}

function rowOf(
  header: ResultHeader,
  names: readonly string[],
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
    metadata: metadataOf(header, names, cells),
  };
}

/** Columns that are not the service's own. Of two with one name the first counts. */
function metadataOf(
  { content, status, result, expected, labels }: ResultHeader,
  names: readonly string[],
  cells: readonly string[],
): Readonly<Record<string, string>> {
  const own = new Set([content, status, result, expected, labels]);
  const metadata = new Map<string, string>();
  for (const [column, name] of names.entries()) {
    if (!own.has(column) && !metadata.has(name)) metadata.set(name, cells[column] ?? '');
  }
  return Object.fromEntries(metadata);
}
