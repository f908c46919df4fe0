/**
 * Ports to the Content Review Service. `packages/client/src/client.ts` implements them. Every
 * method rejects with a ServiceError or the signal's reason.
 */

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

export interface NewBatch {
  readonly batchId: string;
  /** Presigned URL. Secret (I6). */
  readonly uploadUrl: string;
}

export interface BatchState {
  /** `batch_status` in the service's spelling. */
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
  /** `import_status` in the service's spelling. */
  readonly rawStatus: string;
}

export interface ImportService extends Uploads {
  /** POST /v1/import */
  createImport(call: CallSettings): Promise<NewImport>;
  /** GET of an import's status, at the configured path. */
  getImport(importId: string, call: CallSettings): Promise<ImportState>;
}

export interface FoundDecision {
  /** `decision_status` in the service's spelling. */
  readonly rawStatus: string;
  /** Metadata object as JSON. Its numbers keep all digits. */
  readonly metadataJson: string;
  readonly result: string | null;
  /** Label objects as JSON. Their numbers keep all digits. null if there are none. */
  readonly labelsJson: string | null;
}

export interface LookupService {
  /** GET /v1/decisions/{decision_id} */
  getDecision(decisionId: string, call: CallSettings): Promise<FoundDecision>;
}
