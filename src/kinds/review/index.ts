/** Review kind: uploads batches of CSV rows, downloads result files, and publishes one decision per item. */

import { LogOnce } from '../../../packages/client/src/base/log-limits.ts';
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import {
  CONTENT_TYPES,
  normaliseBatchStatus,
} from '../../../packages/client/src/service/contract.ts';
import type { RemoteState } from '../../core/outcome/follow-policy.ts';
import type { RemoteStatus, ResultFileKind } from '../../core/ports/pipeline-kind.ts';
import type { BatchState, ReviewService } from '../service-ports.ts';
import { CsvRows, type UploadOptions } from './csv-rows.ts';
import { DecisionWriter } from './decision-writer.ts';
import { createDecoder, DEFAULT_MAPPING, type MappingOptions } from './decode.ts';
import { EventPart } from './event-part.ts';
import { type CreateResultFileReader, resultFileReader } from './results/result-files.ts';
import type { ResultNotice } from './results/row-decisions.ts';

export interface ReviewOptions extends Partial<MappingOptions & UploadOptions> {
  /** Name of the source topic. */
  readonly topic: string;
  /** Called once for each deviation of result files from the API. */
  readonly onNotice?: (notice: ResultNotice) => void;
  /** Default: a reader in the caller's thread. */
  readonly createReader?: CreateResultFileReader;
}

/** Maximum number of notices to remember, so that each is reported only once. */
const MAX_NOTICES = 1000;
/** Maximum length of a column name in a notice. A column name may be as long as a row. */
const MAX_NOTICE_CHARACTERS = 100;

/** Creates the pipeline kind. @throws RangeError for an invalid expression */
export function reviewKind(options: ReviewOptions, service: ReviewService): ResultFileKind {
  const { topic, resultColumn, includeContent = false, createReader = resultFileReader } = options;
  const columns = { ...options, includeContent };
  const mapping = { ...DEFAULT_MAPPING, ...options };
  const read = createReader({ topic, resultColumn }, onceEach(options.onNotice ?? (() => {})));
  const part = new EventPart();
  const decisions = new DecisionWriter(topic);
  /** True once a file ended with a line end. From then on, a file without one counts as truncated. */
  let filesEndLines = false;

  return {
    name: 'review',
    prepare: (records, signal) => mapping.format.prepare?.(records, signal),
    ...createDecoder(mapping),
    rows: (pool, rowKey = '') => new CsvRows(columns, pool, rowKey, part),

    async create(type, signal) {
      const { batchId, uploadUrl } = await service.createBatch(type, { signal });
      return { remoteId: batchId, uploadUrl };
    },

    async upload(job, { body }, signal) {
      await service.upload(job.uploadUrl, body, { contentType: CONTENT_TYPES.csv, signal });
    },

    async status(remoteId, signal) {
      try {
        return remoteStatus(await service.getBatch(remoteId, { signal }));
      } catch (error) {
        if (!(error instanceof ServiceError) || error.failure !== 'not_found') throw error;
        return { state: 'missing', rawState: `HTTP ${error.status ?? 404}` };
      }
    },

    async *results({ resultUrl, expectedRows }, job, signal, { onHeld, unended } = {}) {
      if (resultUrl === undefined)
        throw new ServiceError('protocol', 'the batch has no download address', {
          operation: 'download',
        });
      // Lets the caller stop once it has enough rows, without waiting for a hanging download.
      const enough = new AbortController();
      try {
        const call = { signal: AbortSignal.any([signal, enough.signal]) };
        yield* read(await service.download(resultUrl, call), {
          ...{ job, expectedRows, wholeRow: filesEndLines ? undefined : unended?.wholeRow },
          ...(onHeld && { onHeld }),
          ...(unended && { onUnendedRow: (digest) => unended.note(digest) }),
          onLineEnd: () => {
            filesEndLines = true;
          },
        });
      } finally {
        enough.abort();
      }
    },

    failure: (item, error, job) => decisions.failure(item, error, job, columns),
  };
}

const STATES = {
  WAITING_FOR_UPLOAD: 'waiting_for_upload',
  PENDING: 'pending',
  SUCCESS: 'finished',
  CANCELLED: 'cancelled',
  ERROR: 'failed',
} as const satisfies Record<string, RemoteState>;

/** Translates the state of a batch to the engine's terms. */
function remoteStatus({ rawStatus, downloadUrl, counts }: BatchState): RemoteStatus {
  const status = normaliseBatchStatus(rawStatus);
  const state = status === undefined ? 'unknown' : STATES[status];
  const { success, error } = counts;
  const reported = {
    rawState: rawStatus,
    ...(success === undefined || error === undefined ? {} : { expectedRows: success + error }),
  };
  if (state !== 'finished') return { ...reported, state };
  // A finished batch without a download address is polled again.
  if (downloadUrl === undefined) return { ...reported, state: 'pending', withoutResults: true };
  return { ...reported, state, resultUrl: downloadUrl };
}

function onceEach(report: (notice: ResultNotice) => void): (notice: ResultNotice) => void {
  const notices = new LogOnce(MAX_NOTICES);
  return ({ kind, value }) => {
    const notice = { kind, value: value.slice(0, MAX_NOTICE_CHARACTERS) };
    if (notices.allows(`${kind} ${notice.value}`)) report(notice);
  };
}
