/** Import kind: batches of JSON Lines are uploaded; each record gets a receipt, without a file. */

import { CONTENT_TYPES } from '../../../packages/client/src/service/contract.ts';
import type { ItemRow } from '../../core/bytes/result-row.ts';
import { attempt } from '../../core/outcome/internal-error.ts';
import type { PerItemKind } from '../../core/ports/pipeline-kind.ts';
import type { ImportService } from '../service-ports.ts';
import { createImportDecoder, type ImportMapping } from './decode.ts';
import { JsonLines } from './jsonl-upload.ts';
import { receiptOf } from './receipt.ts';
import { StatusCheck } from './status-check.ts';

export interface ImportOptions extends ImportMapping {
  /** The source topic. */
  readonly topic: string;
}

/** Receipts made between two checks of the signal. */
const SLICE = 1024;

/** Creates the pipeline kind. @throws RangeError for an invalid expression */
export function importKind(options: ImportOptions, service: ImportService): PerItemKind {
  const { topic } = options;
  const statusCheck = new StatusCheck(service);
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

    status: (remoteId, signal) => statusCheck.status(remoteId, signal),

    // All records of a complete import are imported: the items only determine where the receipts go.
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
