/** Records, jobs and a scripted service for tests of reviews. */
import assert from 'node:assert/strict';
import type { ReadRow } from '../../../../src/core/bytes/result-slice.ts';
import { type ResultFileKind, UnendedRows } from '../../../../src/core/ports/pipeline-kind.ts';
import type { ContentItem, OutgoingRecord, SourceRecord } from '../../../../src/core/record.ts';
import { type ReviewOptions, reviewKind } from '../../../../src/kinds/review/index.ts';
import type { ReviewService } from '../../../../src/kinds/service-ports.ts';
import { JOB } from './items.ts';

export * from './items.ts';

export const SIGNAL = new AbortController().signal;

export function sourceRecord(value: unknown, over: Partial<SourceRecord> = {}): SourceRecord {
  const bytes =
    value === null || Buffer.isBuffer(value)
      ? value
      : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));
  return {
    partition: 3,
    offset: 41,
    timestampMs: Date.UTC(2026, 0, 1),
    key: Buffer.from('user-1'),
    headers: [],
    value: bytes,
    ...over,
  };
}

/** Returns a kind whose service returns this download and fails all other calls. */
export function kindWithFile(
  file: Buffer | string | readonly Buffer[] | (() => AsyncIterable<Buffer>),
  options: Partial<ReviewOptions> = {},
): ResultFileKind {
  const chunks =
    typeof file === 'string' ? [Buffer.from(file)] : Buffer.isBuffer(file) ? [file] : file;
  return reviewKind(
    { topic: 'events', ...options },
    scriptedService({
      download: typeof chunks === 'function' ? chunks : () => iterate(chunks),
    }),
  );
}

export function scriptedService(over: Partial<ReviewService> = {}): ReviewService {
  const unscripted = (): never => assert.fail('the test did not script this call');
  return {
    createBatch: unscripted,
    getBatch: unscripted,
    upload: unscripted,
    download: unscripted,
    ...over,
  };
}

async function* iterate(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

export type Row = ReadRow;

/** Returns all rows of a result file, and the error that ended it early. */
export async function collectRows(
  kind: ResultFileKind,
  expectedRows?: number,
  job = JOB,
  unended = new UnendedRows(),
): Promise<{ rows: Row[]; error: unknown }> {
  const rows: Row[] = [];
  try {
    const finished = {
      state: 'finished',
      rawState: 'SUCCESS',
      resultUrl: 'https://storage.example/file',
    } as const;
    const status = expectedRows === undefined ? finished : { ...finished, expectedRows };
    for await (const slice of kind.results(status, () => job, SIGNAL, { unended }))
      rows.push(...slice);
    return { rows, error: undefined };
  } catch (error) {
    return { rows, error };
  }
}

/** Downloads the file twice. Returns the last rows without a line end. */
export async function unendedTwice(kind: ResultFileKind): Promise<UnendedRows> {
  const unended = new UnendedRows();
  for (let download = 0; download < 2; download++) await collectRows(kind, undefined, JOB, unended);
  return unended;
}

/** Returns the decisions of a file with well-formed rows only. */
export async function decisions(
  kind: ResultFileKind,
  job = JOB,
  unended = new UnendedRows(),
): Promise<OutgoingRecord[]> {
  const { rows, error } = await collectRows(kind, undefined, job, unended);
  assert.equal(error, undefined);
  return rows.map((row) => ('record' in row ? row.record : assert.fail(JSON.stringify(row))));
}

export function decisionOf(record: OutgoingRecord | undefined): Record<string, unknown> {
  assert.ok(record?.value);
  return JSON.parse(record.value.toString());
}

export function itemOf(kind: ResultFileKind, record: SourceRecord, replay = 0): ContentItem {
  const decoded = kind.decode(record, replay);
  assert.ok('item' in decoded, JSON.stringify(decoded));
  return decoded.item;
}
