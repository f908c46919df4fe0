/** What a batch review is: CSV up, CSV down, one decision per item (DESIGN 5). */

import { Once } from '../../base/seldom.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { RemoteState, RemoteStatus, ResultFileKind } from '../../core/ports/pipeline-kind.ts';
import { CONTENT_TYPES, normaliseBatchStatus } from '../../service/contract.ts';
import { createDecisionRenderer } from './decision.ts';
import { createDecoder } from './decode.ts';
import { DEFAULT_MAPPING, type MappingOptions } from './mapping.ts';
import { foldName, problemWithReferenceColumn } from './metadata/column-names.ts';
import { type ColumnOptions, DEFAULT_COLUMNS } from './metadata/columns.ts';
import { type CreateResultFileReader, resultFileReader } from './results/result-files.ts';
import type { ResultNotice } from './results/result-row.ts';
import type { BatchState, ReviewService } from './review-service.ts';
import { CsvRows } from './upload/csv-rows.ts';

export interface ReviewOptions extends Partial<MappingOptions>, Partial<ColumnOptions> {
  /** The source topic, part of every decision. */
  readonly topic: string;
  /** Whether decisions repeat the content. Default false. */
  readonly includeContent?: boolean;
  /** Largest row of a result file, in bytes. Default 64 MiB. */
  readonly maxRowBytes?: number;
  /** Told once for each thing in result files that is not as the interface says. */
  readonly onNotice?: (notice: ResultNotice) => void;
  /** Default: in the caller's thread. */
  readonly createReader?: CreateResultFileReader;
}

const DEFAULT_MAX_ROW_BYTES = 64 * 1024 * 1024;
/** Content types remembered. */
const MAX_TYPES = 1000;
/** Notices remembered, so that each is told once. */
const MAX_NOTICES = 1000;
/** Longest part shown of a service's column name, which may be as long as a row. */
const MAX_NOTICE_CHARACTERS = 100;

/** The pipeline kind of batch reviews. @throws RangeError on a path or a column name that cannot work. */
export function reviewKind(options: ReviewOptions, service: ReviewService): ResultFileKind {
  const columns: ColumnOptions = {
    referenceColumn: options.referenceColumn ?? DEFAULT_COLUMNS.referenceColumn,
    maxMetadataColumns: options.maxMetadataColumns ?? DEFAULT_COLUMNS.maxMetadataColumns,
    escapeFormulas: options.escapeFormulas ?? DEFAULT_COLUMNS.escapeFormulas,
    resultColumn: options.resultColumn,
  };
  const problem = problemWithReferenceColumn(columns.referenceColumn);
  if (problem !== undefined)
    throw new RangeError(`the connector's column "${columns.referenceColumn}" ${problem}`);
  if (
    columns.resultColumn !== undefined &&
    foldName(columns.resultColumn) === foldName(columns.referenceColumn)
  )
    throw new RangeError(
      `the connector's column "${columns.referenceColumn}" is the column of the result too`,
    );
  const mapping = { ...DEFAULT_MAPPING, ...options };
  const decisions = { topic: options.topic, includeContent: options.includeContent ?? false };
  const renderer = createDecisionRenderer(decisions);
  const read = (options.createReader ?? resultFileReader)(
    {
      ...decisions,
      referenceColumn: columns.referenceColumn,
      resultColumn: options.resultColumn,
      maxRowBytes: options.maxRowBytes ?? DEFAULT_MAX_ROW_BYTES,
    },
    onceEach(options.onNotice ?? (() => {})),
  );
  const types = new EchoedTypes();

  return {
    name: 'review',
    prepare: (records, signal) => mapping.format.prepare?.(records, signal),
    decode: createDecoder(mapping),
    rows: (pool) => new CsvRows(columns, pool),

    async create(type, signal) {
      const batch = await service.createBatch(type, { signal });
      return { remoteId: batch.batchId, uploadUrl: batch.uploadUrl };
    },

    async upload(job, { body }, signal) {
      await service.upload(job.uploadUrl, body, { contentType: CONTENT_TYPES.csv, signal });
    },

    async status(remoteId, signal, type) {
      try {
        const batch = await service.getBatch(remoteId, { signal });
        if (types.isAnother(type, batch.type))
          return { state: 'foreign', rawState: batch.rawStatus };
        return remoteStatus(batch);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.failure !== 'not_found') throw error;
        return { state: 'missing', rawState: `HTTP ${error.status ?? 404}` };
      }
    },

    async *results(status, job, signal) {
      if (status.resultUrl === undefined) {
        throw new ServiceError('protocol', 'the batch has no download address', {
          operation: 'download',
        });
      }
      const { expectedRows } = status;
      // Whoever has enough rows does not wait for a download that hangs.
      const enough = new AbortController();
      try {
        const source = service.download(status.resultUrl, {
          signal: AbortSignal.any([signal, enough.signal]),
        });
        yield* read(await source, { job, expectedRows });
      } finally {
        enough.abort();
      }
    },

    failure: renderer.failure,
  };
}

/**
 * Whether a batch is of another content type than its job: then it is not ours, although the service gave us its id, and its
 * results were judged by the rules of another type. A service that has other names for types is believed: evidence is only that
 * it repeated this very type as it was sent before. Each such repetition counts once, so that a service that comes to use other names
 * costs a type one batch.
 */
class EchoedTypes {
  readonly #echoed = new Set<string>();

  isAnother(sent: string, told: string | undefined): boolean {
    if (told === undefined) return false;
    if (told === sent) {
      if (this.#echoed.size < MAX_TYPES) this.#echoed.add(sent);
      return false;
    }
    return foldName(told) !== foldName(sent) && this.#echoed.delete(sent);
  }
}

/** What a GET of a batch says (service-interface.md 2.1), in the engine's words. */
export function remoteStatus(batch: BatchState): RemoteStatus {
  const { rawStatus: rawState, downloadUrl: resultUrl, counts } = batch;
  const expected =
    counts.success === undefined || counts.error === undefined
      ? {}
      : { expectedRows: counts.success + counts.error };
  const state = stateOf(rawState);
  if (state !== 'finished') return { state, rawState, ...expected };
  // Finished, but no address yet: asking again is all that helps.
  if (resultUrl === undefined)
    return { state: 'pending', rawState, withoutResults: true, ...expected };
  return { state, rawState, resultUrl, ...expected };
}

function stateOf(rawState: string): RemoteState {
  switch (normaliseBatchStatus(rawState)) {
    case 'WAITING_FOR_UPLOAD':
      return 'waiting_for_upload';
    case 'PENDING':
      return 'pending';
    case 'SUCCESS':
      return 'finished';
    case 'CANCELLED':
      return 'cancelled';
    case 'ERROR':
      return 'failed';
    case undefined:
      return 'unknown';
  }
}

function onceEach(tell: (notice: ResultNotice) => void): (notice: ResultNotice) => void {
  const notices = new Once(MAX_NOTICES);
  return ({ kind, value }) => {
    const notice = { kind, value: value.slice(0, MAX_NOTICE_CHARACTERS) };
    if (notices.allows(`${kind} ${notice.value}`)) tell(notice);
  };
}
