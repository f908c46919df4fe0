/** What a review needs of the Content Review Service. `src/service/client.ts` satisfies it; a test may script it. */

export interface CreatedBatch {
  readonly batchId: string;
  /** Presigned and secret (I6). */
  readonly uploadUrl: string;
}

export interface BatchState {
  /** The content type, if the answer tells it. */
  readonly type: string | undefined;
  /** batch_status as the service spelled it. */
  readonly rawStatus: string;
  /** Presigned and secret (I6). Only there when the batch is finished. */
  readonly downloadUrl: string | undefined;
  readonly counts: { readonly success: number | undefined; readonly error: number | undefined };
}

interface CallOptions {
  readonly signal: AbortSignal;
}

/** Every method rejects with ServiceError, or with the signal's reason. */
export interface ReviewService {
  /** POST /v1/batches (service-interface.md 4.1). */
  createBatch(type: string, options: CallOptions): Promise<CreatedBatch>;
  /** GET /v1/batches/{batch_id} (4.2). */
  getBatch(batchId: string, options: CallOptions): Promise<BatchState>;
  /** PUT to a presigned address: Content-Length, exactly this Content-Type, no Authorization (4.1, 5.3). */
  upload(
    url: string,
    body: Buffer,
    options: CallOptions & { readonly contentType: string },
  ): Promise<unknown>;
  /** GET of a presigned address, as a stream (2.3). */
  download(
    url: string,
    options: CallOptions,
  ): AsyncIterable<Buffer> | Promise<AsyncIterable<Buffer>>;
}
