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
} from '../../../client/src/service/contract.ts';
import type { Fault } from '../faults/schema.ts';
import { judgeFor, type Verdict } from '../policy/judge.ts';
import type { SandboxPolicy } from '../policy/schema.ts';
import { csvRows, InvalidUpload } from './csv-rows.ts';
import { spoiledRows } from './spoiled-rows.ts';

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
