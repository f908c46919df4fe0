/**
 * Result file of an uploaded CSV, made a slice of rows at a time: memory is bounded by the longest
 * row, and the event loop stays free between slices.
 */

import type { Readable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import {
  CONTENT_COLUMN,
  RESULT_COLUMNS,
  RESULT_SUFFIX,
} from '../../client/src/service/contract.ts';
import { csvRows, InvalidUpload } from './csv-rows.ts';
import type { Fault } from './faults.ts';
import { judgeFor, type SandboxPolicy, type Verdict } from './policy.ts';

// Result rows with the defects of a `rows` fault. Which rows are hit follows from their order: the
// first `missing` rows are left out, the next `duplicated` come twice, the next `malformed` have a
// broken reference, the next `forged` another one, and `unknown` further rows follow at the end. Columns are left out last.

type Row = readonly string[];

/** Neither JSON nor anything else that a caller may have sent. */
const BROKEN = '{"broken';
/** Added to every whole number of a reference, so that it is another one. */
const FAR_AWAY = 1_000_000_000;

/**
 * @param header of the result file
 * @param referenceColumn index in the result of an upload's column, by default the last one
 */
function spoiledRows(
  fault: Extract<Fault, { action: 'rows' }>,
  header: Row,
  referenceColumn: (name: string | undefined) => number,
) {
  const { missing, duplicated, malformed, forged, unknown, shuffled, unclosed } = fault;
  const reference = referenceColumn(fault.refColumn);
  const content = header.indexOf(RESULT_COLUMNS.content);
  const dropped = new Set(fault.dropped.map((name) => header.indexOf(name)));
  const added = Object.values(fault.columns);
  let seen = 0;
  let last: Row | undefined;

  const lineOf = (row: Row): string => {
    const opened = unclosed !== undefined && row[content]?.includes(unclosed) ? '"' : '';
    return opened + stringify([row.filter((_, column) => !dropped.has(column))]);
  };
  const csv = (rows: readonly Row[]): string => rows.map(lineOf).join('');
  const spoil = (row: Row): Row[] => {
    const position = seen++;
    last = row;
    const whole = [...row, ...added];
    if (position < missing) return [];
    if (position < missing + duplicated) return [whole, whole];
    if (position < missing + duplicated + malformed) return [whole.with(reference, BROKEN)];
    if (position >= missing + duplicated + malformed + forged) return [whole];
    return [whole.with(reference, changed(row[reference] ?? ''))];
  };
  const strange = (row: Row, number: number): Row => {
    const moved = (digits: string) => String(Number(digits) + FAR_AWAY + number);
    const text = row[reference]?.replace(/\d+/g, moved) ?? '';
    return [...row.with(reference, text), ...added];
  };

  return {
    header: csv([[...header, ...Object.keys(fault.columns)]]),
    /** Shuffles within the rows given: a slice of the file, the whole of it when it is small. */
    rows(rows: readonly Row[]): string {
      const spoiled = rows.flatMap(spoil);
      return csv(shuffled ? mixed(spoiled) : spoiled);
    },
    end(): string {
      const row = last;
      return row === undefined
        ? ''
        : csv(Array.from({ length: unknown }, (_, n) => strange(row, n)));
    },
  };
}

/** A text with another character in its middle. */
function changed(text: string): string {
  const middle = text.length >> 1;
  return text.slice(0, middle) + (text[middle] === 'A' ? 'B' : 'A') + text.slice(middle + 1);
}

/** The rows in another order, which is the same in every run. */
function mixed(rows: readonly Row[]): Row[] {
  return rows
    .map((row, index) => ({ row, rank: Math.imul(index + 1, 0x9e3779b1) >>> 0 }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ row }) => row);
}

const ERROR_PAGE =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>Please try again later.</body></html>\n';
const COMMAS = ','.repeat(64 * 1024);

interface ReviewRequest {
  readonly type: string | undefined;
  readonly policy: SandboxPolicy;
  readonly fault: Fault | null;
}

/** Numbers of rows of an upload: in all, and judged with status ERROR. */
interface ReviewCounts {
  rows: number;
  errorRows: number;
}

/**
 * Yields the CSV text of the results, and counts the rows on the way.
 * @throws InvalidUpload; the signal's reason when it aborts
 */
export async function* resultFile(
  upload: Readable,
  request: ReviewRequest,
  counts: ReviewCounts,
  signal: AbortSignal,
): AsyncGenerator<string, void, void> {
  const wrong = request.fault?.action === 'file' ? request.fault : undefined;
  let review: ReturnType<typeof reviewOf> | undefined;
  for await (const rows of csvRows(upload)) {
    signal.throwIfAborted();
    const isFirst = review === undefined;
    review ??= reviewOf(rows.shift() ?? [], request);
    const results = review.rows(rows, counts);
    if (wrong === undefined) yield isFirst ? review.header + results : results;
  }
  if (review === undefined) throw new InvalidUpload('the upload is empty: it needs a header row');

  if (wrong === undefined) yield review.end;
  else if (wrong.as === 'html') yield ERROR_PAGE;
  else {
    yield review.header;
    if (wrong.as === 'header_only') return;
    for (let left = wrong.bytes; left > 0; left -= COMMAS.length) yield COMMAS.slice(0, left);
    yield '\n';
  }
}

function reviewOf(header: readonly string[], { type = '', policy, fault }: ReviewRequest) {
  const content = header.indexOf(CONTENT_COLUMN);
  if (content < 0) throw new InvalidUpload(`the upload has no column named ${CONTENT_COLUMN}`);
  const judge = judgeFor(policy.review, type, header, content);
  const columns = resultColumns(header, content, policy);
  const names = columns.map(({ name }) => name);
  const spoiled =
    fault?.action === 'rows'
      ? spoiledRows(fault, names, (name) => {
          const named = name === undefined ? -1 : header.indexOf(name);
          const reference = named < 0 ? header.length - 1 : named;
          return columns.findIndex(({ from }) => from === reference);
        })
      : undefined;

  return {
    header: spoiled?.header ?? stringify([names]),
    rows(rows: readonly string[][], counts: ReviewCounts): string {
      const results = rows.map((cells) => {
        const verdict = judge(cells);
        if (verdict.failsBatch) {
          throw new InvalidUpload('a rule of the policy fails every batch with a row like this');
        }
        if (verdict.status === 'ERROR') counts.errorRows += 1;
        return columns.map(({ cell }) => cell(cells, verdict));
      });
      counts.rows += rows.length;
      return spoiled?.rows(results) ?? stringify(results);
    },
    get end(): string {
      return spoiled?.end() ?? '';
    },
  };
}

interface ResultColumn {
  readonly name: string;
  /** The upload's column that it repeats. */
  readonly from?: number;
  readonly cell: (cells: readonly string[], verdict: Verdict) => string;
}

/** Columns in the order of the policy. Metadata keep their names, also those of other columns. */
function resultColumns(
  header: readonly string[],
  content: number,
  { service, results }: SandboxPolicy,
): ResultColumn[] {
  const expected = header.indexOf(RESULT_COLUMNS.expected);
  const copy = (name: string, from: number): ResultColumn => {
    return { name, from, cell: (cells) => cells[from] ?? '' };
  };
  const made = (name: string, field: 'status' | 'result' | 'labels'): ResultColumn => {
    return { name, cell: (_, verdict) => verdict[field] };
  };
  const fields = {
    content: [copy(RESULT_COLUMNS.content, content)],
    status: [made(RESULT_COLUMNS.status, 'status')],
    result: [made(service.name + RESULT_SUFFIX, 'result')],
    expected: [copy(RESULT_COLUMNS.expected, expected)],
    labels: [made(RESULT_COLUMNS.labels, 'labels')],
    metadata: header.flatMap((name, from) =>
      from === content || from === expected ? [] : copy(name, from),
    ),
  };
  return results.columns.flatMap((field) => fields[field]);
}
