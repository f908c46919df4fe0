/**
 * Ports to the Content Review Service. `packages/client/src/client.ts` implements them. Every
 * method rejects with a ServiceError or the signal's reason.
 */
import type {
  BatchView,
  CreatedBatch,
  CreatedImport,
  DecisionView,
  ImportView,
} from '../../packages/client/src/service/answers.ts';

interface CallSettings {
  readonly signal: AbortSignal;
  /** Awaited before each request of a call, including retries; not for transfers. */
  readonly beforeRequest?: (signal: AbortSignal) => Promise<void>;
}

interface Uploads {
  /** PUT to a presigned URL without authorization, with Content-Length and exactly this Content-Type. */
  upload(
    url: string,
    body: Buffer,
    call: CallSettings & { readonly contentType: string },
  ): Promise<unknown>;
}

export type BatchState = Pick<BatchView, 'rawStatus' | 'downloadUrl'> & {
  readonly counts: Pick<BatchView['counts'], 'success' | 'error'>;
};

export interface ReviewService extends Uploads {
  createBatch(type: string, call: CallSettings): Promise<CreatedBatch>;
  getBatch(batchId: string, call: CallSettings): Promise<BatchState>;
  /** GET of a presigned URL, as a stream. */
  download(url: string, call: CallSettings): AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer>>;
}

export interface ImportService extends Uploads {
  createImport(call: CallSettings): Promise<CreatedImport>;
  getImport(importId: string, call: CallSettings): Promise<Pick<ImportView, 'rawStatus'>>;
}

export type FoundDecision = Omit<DecisionView, 'decisionId' | 'status'>;

export interface LookupService {
  getDecision(decisionId: string, call: CallSettings): Promise<FoundDecision>;
}
