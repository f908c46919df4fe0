/** A result file read the plain way, for comparison: all of it by csv-parse, each row an object, each decision by the renderer. */

import { sizeOfRecord, writeRecord } from '../../../../src/core/bytes/record-bytes.ts';
import type { ReadRow } from '../../../../src/core/bytes/result-row.ts';
import type { ResultSlice } from '../../../../src/core/bytes/result-slice.ts';
import type { JobContext } from '../../../../src/core/ports/pipeline-kind.ts';
import { CsvParser } from '../../../../src/kinds/review/results/csv-parser.ts';
import type { SharedByFiles } from '../../../../src/kinds/review/results/file-settings.ts';
import { MetadataPlans } from '../../../../src/kinds/review/results/metadata-plans.ts';
import {
  readResultHeader,
  unreadable,
} from '../../../../src/kinds/review/results/result-header.ts';
import { createDecisionRenderer } from '../../../support/review/plain-decision.ts';
import { ResultRowReader } from '../../../support/review/plain-row-reader.ts';

/**
 * Comparable result of reading a file: rows with their records as bytes, rows without one, and what
 * ended it.
 */
export interface FileContents {
  readonly records: readonly object[];
  readonly others: readonly ReadRow[];
  readonly error: string | undefined;
}

const LINE_FEED = 0x0a;

/** Reads a whole file with csv-parse. */
export async function readWhole(
  file: Buffer,
  shared: SharedByFiles,
  job: JobContext,
  expectedRows: number | undefined,
): Promise<FileContents> {
  const { settings, lastRows, seenColumns, onNotice } = shared;
  const found: string[][] = [];
  const parser = new CsvParser(found, settings.maxRowBytes);
  let problem = file.length === 0 ? undefined : await parser.feed(Buffer.from(file));
  problem ??= await parser.finish();
  parser.destroy();
  const [names, ...rows] = found;
  const contents = { records: [] as object[], others: [] as ReadRow[] };
  const ended = (error: unknown) => ({
    ...contents,
    error: error === undefined ? undefined : String(error),
  });
  if (names === undefined)
    return ended(problem ?? unreadable('the result file is empty: it has no header'));
  try {
    const header = readResultHeader(names, settings, seenColumns);
    const reader = new ResultRowReader(
      header,
      names,
      createDecisionRenderer(settings),
      new MetadataPlans(header),
      onNotice,
    );
    if (problem === undefined && file.at(-1) === LINE_FEED && expectedRows === rows.length)
      lastRows.endedLine();
    const last = rows.at(-1);
    if (problem === undefined && file.at(-1) !== LINE_FEED && last !== undefined) {
      if (
        !lastRows.isWhole(last, last[header.reference] ?? '', rows.length < (expectedRows ?? 0))
      ) {
        rows.pop();
        problem = unreadable(
          'the result file is truncated or has no final line end: its last row may not be whole',
        );
      }
    }
    for (const cells of rows) addRow(contents, reader.read(cells, job));
    if (problem === undefined) reader.finish();
    return ended(problem);
  } catch (error) {
    return ended(error);
  }
}

function addRow(contents: { records: object[]; others: ReadRow[] }, row: ReadRow): void {
  if (!('record' in row)) {
    contents.others.push(row);
    return;
  }
  const { partition, offset, status, result, expected, record } = row;
  const bytes = Buffer.alloc(sizeOfRecord(record));
  writeRecord(record, bytes, 0);
  contents.records.push({
    ...{ partition, offset, isError: status === 'error', result, expected },
    bytes: bytes.toString('latin1'),
  });
}

/** The same of slices. */
export async function collected(slices: AsyncIterable<ResultSlice>): Promise<FileContents> {
  const contents = { records: [] as object[], others: [] as ReadRow[] };
  let error: string | undefined;
  try {
    for await (const slice of slices) {
      for (let row = 0; row < slice.length; row++) {
        contents.records.push({
          partition: slice.partition(row),
          offset: slice.offset(row),
          ...slice.outcome(row),
          bytes: slice.bytes.toString('latin1', slice.start(row), slice.end(row)),
        });
      }
      contents.others.push(...slice.others);
      slice.release();
    }
  } catch (caught) {
    error = String(caught);
  }
  return { ...contents, error };
}
