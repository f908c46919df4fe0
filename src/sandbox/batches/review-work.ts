/** What is done with the uploads of batches: every row is judged, and the results are written to a file. */
import type { Policy } from '../policy/schema.ts';
import { etagOf, type ObjectStore } from '../storage/object-store.ts';
import { RESULTS, UPLOADS } from '../storage/paths.ts';
import type { Workshop } from '../work/lifecycle.ts';
import type { Batch, BatchStore, Reviewed } from './batch-store.ts';
import { InvalidUpload } from './csv-rows.ts';
import { reviewFile } from './review-file.ts';

export interface ReviewParts {
  readonly store: BatchStore;
  readonly uploads: ObjectStore;
  readonly results: ObjectStore;
  readonly policy: Policy;
  readonly onError: (error: unknown) => void;
}

export function reviewWork(parts: ReviewParts): Workshop<Batch> {
  const { store, uploads, policy } = parts;
  return {
    store,
    operation: 'review',
    workTimeMs: policy.timing.reviewTimeMs,
    contentType: ({ type }) => type,
    hasUpload: (id) => uploads.has(UPLOADS.fileName(id)),
    async process(batch, signal) {
      const reviewed = await judged(batch, signal, parts);
      signal.throwIfAborted();
      store.reviewed(batch.id, reviewed);
    },
    outcome({ problem, fault }) {
      if (problem !== null || fault?.action === 'batch_error') return 'ERROR';
      return fault?.action === 'batch_cancelled' ? 'CANCELLED' : 'SUCCESS';
    },
  };
}

async function judged(
  { id, type, fault }: Batch,
  signal: AbortSignal,
  parts: ReviewParts,
): Promise<Reviewed> {
  const { uploads, results, policy, onError } = parts;
  const draft = await results.draft(RESULTS.fileName(id));
  try {
    const request = {
      type,
      policy,
      fault: fault?.action === 'rows' || fault?.action === 'file' ? fault : undefined,
    };
    const counts = await reviewFile(uploads.read(UPLOADS.fileName(id)), draft, request, signal);
    const etag = etagOf(draft.md5());
    await draft.keep();
    return { rows: counts.rows, errorRows: counts.errorRows, etag, problem: null };
  } catch (error) {
    await draft.discard();
    if (signal.aborted) throw error;
    if (!(error instanceof InvalidUpload)) onError(error);
    const problem =
      error instanceof InvalidUpload ? error.message : 'the sandbox failed to review this batch';
    return { rows: 0, errorRows: 0, etag: null, problem };
  }
}
