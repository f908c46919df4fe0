/** Result files (service-interface.md 2.3) as typed rows, streamed, and taken up again where a download broke. */
import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../core/outcome/service-error.ts';
import { readLabels } from '../kinds/review/results/labels.ts';
import { RecordParser } from '../kinds/review/results/record-parser.ts';
import { readResultHeader, unreadable } from '../kinds/review/results/result-header.ts';
import type { CallOptions } from './options.ts';
import { knownStatus, type RowShape, shapeOf } from './result-columns.ts';

export interface ResultLabel {
  readonly name: string;
  readonly applied: boolean;
  readonly explanation: string | null;
}

export interface ResultRow {
  /** Its number in the file: 1 is the first behind the header. */
  readonly row: number;
  readonly content: string | null;
  /** SUCCESS or ERROR; a status of another name as the file has it. */
  readonly status: string;
  readonly result: string | null;
  readonly expectedResult: string | null;
  /** Read out of whatever form they have in the cell; `labelsText` is the cell itself. */
  readonly labels: readonly ResultLabel[];
  /** `labels` as JSON, with the digits that the service sent. */
  readonly labelsJson: string;
  readonly labelsText: string;
  /** All other columns, by their headers: also those that came with the upload under a name of the service's. */
  readonly metadata: Readonly<Record<string, string>>;
}

export interface MalformedRow {
  readonly row: number;
  readonly cells: number;
  readonly expectedCells: number;
}

export interface ResultsOptions extends CallOptions {
  /** Header of the result. Default: one that ends in ` result` and is not `Expected result`; of several the first behind `Status`. */
  readonly resultColumn?: string;
  /** Told a row with more or fewer cells than the header, which is then left out. Default: such a row ends the reading with a ProtocolError. */
  readonly onMalformedRow?: (row: MalformedRow) => void;
  /** Largest row, in bytes. Default 64 MiB. */
  readonly maxRowBytes?: number;
}

export interface ResultDownload {
  readonly chunks: AsyncIterable<Buffer>;
  /** Rows that the service says it wrote; undefined when it does not say. */
  readonly expectedRows: number | undefined;
}

const DEFAULT_MAX_ROW_BYTES = 64 * 1024 * 1024;
const SLICE_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
/** Downloads in a row that may break without a new row. */
const MAX_BREAKS = 5;
const BREAK_WAIT_MS = 500;

/** How much of the file was handed out. The digest of its records tells whether a second download is the same file. */
interface Progress {
  records: number;
  digest: string;
}

/**
 * Yields each row once, over as many downloads as it takes.
 * @throws ServiceError protocol for a file that is not what the interface promises, or another one than before the break;
 * what `open` throws; the signal's reason.
 */
export async function* resumedRows(
  clock: Clock,
  options: ResultsOptions & { readonly signal: AbortSignal },
  open: () => Promise<ResultDownload>,
): AsyncGenerator<ResultRow, void, undefined> {
  const progress: Progress = { records: 0, digest: '' };
  for (let breaks = 0; ; ) {
    const before = progress.records;
    const download = await open();
    try {
      yield* readRows(download, options, progress);
      return;
    } catch (error) {
      breaks = progress.records > before ? 1 : breaks + 1;
      if (!brokeOff(error) || breaks > MAX_BREAKS) throw error;
    }
    await clock.sleep(BREAK_WAIT_MS * breaks, options.signal);
  }
}

/** The storage had begun to answer, so nothing below has tried that again, and another time it may get further. */
function brokeOff(error: unknown): boolean {
  if (!(error instanceof ServiceError) || error.operation !== 'download' || error.sameAgain)
    return false;
  return Math.floor((error.status ?? 0) / 100) === 2;
}

async function* readRows(
  { chunks, expectedRows }: ResultDownload,
  options: ResultsOptions,
  progress: Progress,
): AsyncGenerator<ResultRow, void, undefined> {
  const records: string[][] = [];
  const parser = new RecordParser(records, options.maxRowBytes ?? DEFAULT_MAX_ROW_BYTES);
  let names: readonly string[] | undefined;
  let shape: RowShape | undefined;
  let taken = 0;
  let digest = '';

  function* take(): Generator<ResultRow, void, undefined> {
    for (const record of records.splice(0)) {
      digest = hash('sha1', digest + JSON.stringify(record));
      const known = ++taken <= progress.records;
      if (taken === progress.records && digest !== progress.digest) throw changed();
      if (names === undefined) {
        readResultHeader(record, options);
        names = record;
      } else shape ??= shapeOf(names, record, options.resultColumn);
      if (known) continue;
      const row = shape === undefined ? undefined : rowOf(shape, record, taken - 1, options);
      progress.records = taken;
      progress.digest = digest;
      if (row === undefined) continue;
      yield row;
      options.signal?.throwIfAborted();
    }
  }

  try {
    let lastByte: number | undefined;
    for await (const chunk of chunks) {
      lastByte = chunk.at(-1) ?? lastByte;
      for (let start = 0; start < chunk.length; start += SLICE_BYTES) {
        const problem = await parser.feed(chunk.subarray(start, start + SLICE_BYTES));
        yield* take();
        if (problem !== undefined) throw problem;
      }
    }
    const problem = await parser.finish();
    // The header is a record too.
    const missing = expectedRows !== undefined && taken + records.length < expectedRows + 1;
    // Without a line end the last row may be a piece of one.
    if (missing && lastByte !== LINE_FEED) records.pop();
    yield* take();
    if (problem !== undefined) throw problem;
    if (names === undefined) throw unreadable('the result file is empty: it has no header');
    if (taken < progress.records) throw changed();
    if (missing)
      throw unreadable(
        `the result file has ${taken - 1} whole rows, but the service counted ${expectedRows}`,
      );
  } finally {
    parser.destroy();
  }
}

function changed(): ServiceError {
  return unreadable(
    'the result file is not the one that was read before its download broke: read it from its beginning',
  );
}

function rowOf(
  shape: RowShape,
  cells: readonly string[],
  row: number,
  options: ResultsOptions,
): ResultRow | undefined {
  const { header, metadata } = shape;
  if (cells.length !== header.width) {
    const malformed = { row, cells: cells.length, expectedCells: header.width };
    if (options.onMalformedRow === undefined)
      throw unreadable(
        `row ${row} of the result file has ${cells.length} cells, its header ${header.width}`,
      );
    options.onMalformedRow(malformed);
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
    labels: JSON.parse(labelsJson),
    labelsJson,
    labelsText,
    metadata: Object.fromEntries(metadata.map(({ name, index }) => [name, cells[index] ?? ''])),
  };
}
