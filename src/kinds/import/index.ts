/** Import kind: uploads batches of JSON Lines. Each record gets a receipt; there are no result files. */

import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import {
  CONTENT_TYPES,
  normaliseImportStatus,
} from '../../../packages/client/src/service/contract.ts';
import type { ItemRow } from '../../core/bytes/result-slice.ts';
import type { RemoteState } from '../../core/outcome/follow-policy.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type { JobContext, PerItemKind, RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../core/record.ts';
import type { ImportService } from '../service-ports.ts';
import {
  errorJson,
  type RecordError,
  type TerminalSource,
  terminalRecord,
} from '../terminal-record.ts';
import { createImportDecoder, type ImportMapping } from './decode.ts';
import { JsonLines } from './json-lines.ts';

// Receipts of imported records (contracts/receipt.schema.json).

interface ReceiptFacts {
  readonly status: 'SUCCESS' | 'ERROR';
  /** Status in the service's spelling. null if the service reported none. */
  readonly importStatus: string | null;
  readonly error: RecordError | undefined;
}

/** Returns a receipt. @param topic the source topic */
export function receiptOf(
  topic: string,
  source: TerminalSource,
  { status, importStatus, error }: ReceiptFacts,
  job: JobContext,
): OutgoingRecord {
  const { remoteId, attempt } = job;
  const importId = remoteId === '' ? null : remoteId;
  const head = { status, import_id: importId, import_status: importStatus, attempt };
  const members = `${JSON.stringify(head).slice(1, -1)},"error":${errorJson(error)}`;
  return terminalRecord(topic, source, members, job);
}

// Status checks of imports. Their path is configured, because the API does not define it. A wrong
// path returns 404 too, and treating that as a missing import would resubmit every import
// endlessly.

const STATES = {
  WAITING_FOR_UPLOAD: 'waiting_for_upload',
  IN_PROGRESS: 'pending',
  COMPLETE: 'finished',
  FAILED: 'failed',
} as const satisfies Record<string, RemoteState>;

/** The returned function throws ServiceError `not_found` if no import can be found at all, or the signal's reason. */
function statusCheck(
  service: ImportService,
): (importId: string, signal: AbortSignal) => Promise<RemoteStatus> {
  /** Control: an import that is created only to be queried. It is never uploaded and costs nothing. */
  let control: string | undefined;
  /** True if an import was found since the control was created. The service may then have dropped the control. */
  let foundSince = false;

  async function find(importId: string, signal: AbortSignal): Promise<string> {
    const { rawStatus } = await service.getImport(importId, { signal });
    foundSince = true;
    return rawStatus;
  }

  /** Queries the control, which exists unless the path is wrong or the service dropped it. */
  async function findControl(signal: AbortSignal): Promise<void> {
    if (control === undefined) {
      control = (await service.createImport({ signal })).importId;
      foundSince = false;
    }
    try {
      await find(control, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (!foundSince)
        throw error.restated(
          `${error.message}. An import created as a control is not found either: check service.importPath`,
        );
      control = undefined;
      await findControl(signal);
    }
  }

  return async (importId, signal) => {
    try {
      const rawState = await find(importId, signal);
      const status = normaliseImportStatus(rawState);
      return { state: status === undefined ? 'unknown' : STATES[status], rawState };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await findControl(signal);
      return { state: 'missing', rawState: `HTTP ${error.status ?? 404}` };
    }
  };
}

function isNotFound(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.failure === 'not_found';
}

export interface ImportOptions extends ImportMapping {
  /** Name of the source topic. */
  readonly topic: string;
}

/** Number of receipts created between two checks of the signal. */
const SLICE = 1024;

/** Creates the pipeline kind. @throws RangeError for an invalid expression */
export function importKind(options: ImportOptions, service: ImportService): PerItemKind {
  const { topic } = options;
  return {
    name: 'import',
    prepare: (records, signal) => options.format?.prepare?.(records, signal),
    ...createImportDecoder(options),
    rows: (pool) => new JsonLines(pool),

    async create(_type, signal) {
      const { importId, uploadUrl } = await service.createImport({ signal });
      return { remoteId: importId, uploadUrl };
    },

    async upload(job, { body }, signal) {
      await service.upload(job.uploadUrl, body, { contentType: CONTENT_TYPES.jsonl, signal });
    },

    status: statusCheck(service),

    // A complete import contains all its records. The items only determine the keys and headers of the receipts.
    async *outcomes(items, { rawState }, job, signal) {
      for (let from = 0; from < items.length; from += SLICE) {
        signal.throwIfAborted();
        const about = job();
        const facts = { status: 'SUCCESS', importStatus: rawState, error: undefined } as const;
        yield items.slice(from, from + SLICE).map((item): ItemRow => {
          const { partition, offset } = item;
          const receipt = attempt(() => receiptOf(topic, item, facts, about));
          if ('poison' in receipt) return { partition, offset, poison: receipt.poison };
          return { partition, offset, status: 'success', record: receipt.made };
        });
      }
    },

    outcomeOf({ partition, offset, replay }, { rawState }, job) {
      const source = { partition, offset, replay, timestampMs: -1, key: null, headers: undefined };
      const facts = { status: 'SUCCESS', importStatus: rawState, error: undefined } as const;
      const record = receiptOf(topic, source, facts, job);
      return { partition, offset, status: 'success', record };
    },

    failure: (item, error, job) =>
      receiptOf(topic, item, { status: 'ERROR', importStatus: null, error }, job),
  };
}
