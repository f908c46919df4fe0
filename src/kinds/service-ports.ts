/**
 * Ports to the Content Review Service, implemented by `packages/client/src/client.ts`.
 * Every method rejects with a ServiceError or the signal's reason.
 */

interface CallSettings {
  readonly signal: AbortSignal;
  /** Awaited before each request of a call, including retries; not for transfers. */
  readonly beforeRequest?: (signal: AbortSignal) => Promise<void>;
}

interface Uploads {
  /** PUT to a presigned URL with Content-Length and exactly this Content-Type, without authorization. */
  upload(
    url: string,
    body: Buffer,
    call: CallSettings & { readonly contentType: string },
  ): Promise<unknown>;
}

export interface NewBatch {
  readonly batchId: string;
  /** Presigned URL. Secret (I6). */
  readonly uploadUrl: string;
}

export interface BatchState {
  /** batch_status in the spelling of the service. */
  readonly rawStatus: string;
  /** Presigned URL. Secret (I6). Present if the batch is finished. */
  readonly downloadUrl: string | undefined;
  readonly counts: { readonly success: number | undefined; readonly error: number | undefined };
}

export interface ReviewService extends Uploads {
  /** POST /v1/batches */
  createBatch(type: string, call: CallSettings): Promise<NewBatch>;
  /** GET /v1/batches/{batch_id} */
  getBatch(batchId: string, call: CallSettings): Promise<BatchState>;
  /** GET of a presigned URL, as a stream. */
  download(url: string, call: CallSettings): AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer>>;
}

export interface NewImport {
  readonly importId: string;
  /** Presigned URL. Secret (I6). */
  readonly uploadUrl: string;
}

export interface ImportState {
  /** import_status in the spelling of the service. */
  readonly rawStatus: string;
}

export interface ImportService extends Uploads {
  /** POST /v1/import */
  createImport(call: CallSettings): Promise<NewImport>;
  /** GET of the status of an import; its path is configured. */
  getImport(importId: string, call: CallSettings): Promise<ImportState>;
}

export interface FoundDecision {
  /** decision_status in the spelling of the service. */
  readonly rawStatus: string;
  /** JSON text of the metadata object, with its digits. */
  readonly metadataJson: string;
  readonly result: string | null;
  /** JSON text of the label objects, with their digits; null if there are none. */
  readonly labelsJson: string | null;
}

export interface LookupService {
  /** GET /v1/decisions/{decision_id} */
  getDecision(decisionId: string, call: CallSettings): Promise<FoundDecision>;
}
