/** What an import is: JSON Lines up, no file down, one receipt per record (service-interface.md 2.4, 2.5, 4.3, 4.4). */
import { attempt } from '../../core/outcome/internal-error.ts';
import type { ItemOutcome, PerItemKind } from '../../core/ports/pipeline-kind.ts';
import { CONTENT_TYPES } from '../../service/contract.ts';
import { createImportDecoder, type ImportMapping } from './decode.ts';
import type { ImportService } from './import-service.ts';
import { JsonLines } from './jsonl-upload.ts';
import { createReceiptRenderer } from './receipt.ts';
import { StatusCheck } from './status-check.ts';

export interface ImportOptions extends ImportMapping {
  /** The source topic, part of every receipt. */
  readonly topic: string;
}

/** Receipts made at a time, between two looks at the signal. */
const SLICE = 1024;

/** The pipeline kind of imports. @throws RangeError on a path that cannot work. */
export function importKind(options: ImportOptions, service: ImportService): PerItemKind {
  const render = createReceiptRenderer(options.topic);
  const statusCheck = new StatusCheck(service);
  return {
    name: 'import',
    prepare: (records, signal) => options.format?.prepare?.(records, signal),
    decode: createImportDecoder(options),
    rows: (pool) => new JsonLines(pool),

    async create(_type, signal) {
      const { importId, uploadUrl } = await service.createImport({ signal });
      return { remoteId: importId, uploadUrl };
    },

    async upload(job, { body }, signal) {
      await service.upload(job.uploadUrl, body, { contentType: CONTENT_TYPES.jsonl, signal });
    },

    status: (remoteId, signal) => statusCheck.ask(remoteId, signal),

    // Every record of an import that is complete is imported: the items say only where the receipts go.
    async *outcomes(items, { rawState }, job, signal) {
      for (let from = 0; from < items.length; from += SLICE) {
        signal.throwIfAborted();
        const about = job();
        yield items.slice(from, from + SLICE).map((item): ItemOutcome => {
          const { partition, offset } = item;
          const receipt = attempt(() =>
            render(item, { status: 'SUCCESS', importStatus: rawState, error: undefined }, about),
          );
          if ('poison' in receipt) return { partition, offset, poison: receipt.poison };
          return { partition, offset, status: 'success', record: receipt.made };
        });
      }
    },

    outcomeOf({ partition, offset, replay }, { rawState }, job) {
      const source = { partition, offset, replay, timestampMs: -1, key: null, headers: undefined };
      const record = render(
        source,
        { status: 'SUCCESS', importStatus: rawState, error: undefined },
        job,
      );
      return { partition, offset, status: 'success', record };
    },

    failure: (item, error, job) =>
      render(item, { status: 'ERROR', importStatus: null, error }, job),
  };
}
