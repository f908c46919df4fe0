/** The batch resource: service-interface.md 2.1, 4.1 and 4.2. */
import type { Api } from './api.ts';
import {
  type BatchStatus,
  type CreateBatchRequest,
  normaliseBatchStatus,
  PATHS,
} from './contract.ts';
import {
  fieldsOf,
  isPathSegment,
  optionalCount,
  optionalText,
  ProtocolViolation,
  requiredAddress,
  requiredId,
  requiredStatus,
} from './contract-fields.ts';
import { serviceError } from './problem.ts';

export interface CreatedBatch {
  readonly batchId: string;
  /** Opaque and secret (I6). */
  readonly uploadUrl: string;
}

export interface BatchView {
  readonly batchId: string;
  readonly type: string | undefined;
  /** undefined for a status that this version does not know. */
  readonly status: BatchStatus | undefined;
  /** As the service spelled it. */
  readonly rawStatus: string;
  /** Opaque and secret (I6). The interface promises it with SUCCESS only. */
  readonly downloadUrl: string | undefined;
  readonly counts: {
    readonly total: number | undefined;
    readonly success: number | undefined;
    readonly pending: number | undefined;
    readonly error: number | undefined;
    readonly cancelled: number | undefined;
  };
}

/**
 * POST /v1/batches (4.1). There is no idempotency key: an unclear outcome is tried again, since a batch without an upload
 * costs nothing, and told to the observer as `orphanPossible`.
 * @throws ServiceError; the signal's reason when aborted.
 */
export function createBatch(api: Api, type: string, signal: AbortSignal): Promise<CreatedBatch> {
  const body: CreateBatchRequest = { type };
  return api.call(
    {
      operation: 'create_batch',
      method: 'POST',
      path: PATHS.batches,
      body,
      creates: true,
      parse: parseCreated,
    },
    signal,
  );
}

/**
 * GET /v1/batches/{batch_id} (4.2).
 * @throws ServiceError (`not_found` for 404 and 410); the signal's reason when aborted.
 */
export async function getBatch(api: Api, batchId: string, signal: AbortSignal): Promise<BatchView> {
  const operation = 'get_batch';
  if (!isPathSegment(batchId)) {
    const what = 'was not called: the batch id cannot stand in a path';
    throw serviceError(operation, PATHS.batches, { failure: 'rejected', what, reason: 'bad_id' });
  }
  return await api.call(
    {
      operation,
      method: 'GET',
      path: PATHS.batch(batchId),
      parse: (json) => parseBatch(json, batchId),
    },
    signal,
  );
}

function parseCreated(json: unknown): CreatedBatch {
  const fields = fieldsOf(json);
  return {
    batchId: requiredId(fields, 'batch_id'),
    uploadUrl: requiredAddress(fields, 'upload_url'),
  };
}

function parseBatch(json: unknown, batchId: string): BatchView {
  const fields = fieldsOf(json);
  // A cache or proxy that mixes answers up must not settle one batch with the results of another.
  if ((optionalText(fields, 'batch_id') ?? batchId) !== batchId)
    throw new ProtocolViolation('batch_id is not the one asked for');
  const rawStatus = requiredStatus(fields, 'batch_status');
  return {
    batchId,
    type: optionalText(fields, 'type'),
    status: normaliseBatchStatus(rawStatus),
    rawStatus,
    downloadUrl: optionalText(fields, 'download_url')
      ? requiredAddress(fields, 'download_url')
      : undefined,
    counts: {
      total: optionalCount(fields, 'batch_count'),
      success: optionalCount(fields, 'success_count'),
      pending: optionalCount(fields, 'pending_count'),
      error: optionalCount(fields, 'error_count'),
      cancelled: optionalCount(fields, 'cancelled_count'),
    },
  };
}
