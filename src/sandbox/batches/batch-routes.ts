/** POST /v1/batches and GET /v1/batches/{batch_id} (service-interface.md 4.1, 4.2). */
import { randomUUID } from 'node:crypto';
import { CONTENT_TYPES, type CreateBatchResponse, type GetBatchResponse, PATHS } from '../../service/contract.ts';
import { apiError, jsonAnswer, type Plan, Refusal } from '../http/answer.ts';
import type { Authorize } from '../http/bearer.ts';
import { type Exchange, type RouteGroup, readJson, requireMethod } from '../http/exchange.ts';
import { type AddressParts, downloadAddress, uploadAddress } from '../storage/addresses.ts';
import { RESULTS, UPLOADS } from '../storage/paths.ts';
import { type BatchStore, countsOf } from './batch-store.ts';

export interface BatchRouteParts extends AddressParts {
  readonly store: BatchStore;
  readonly authorize: Authorize;
}

const upload = { folder: UPLOADS, contentType: CONTENT_TYPES.csv, idName: 'batch_id' };

export function batchRoutes(parts: BatchRouteParts): RouteGroup {
  return {
    prefix: PATHS.batches,
    async handle(exchange) {
      parts.authorize(exchange.request);
      if (exchange.path === PATHS.batches) {
        requireMethod(exchange, 'POST');
        return createPlan(exchange, parts);
      }
      requireMethod(exchange, 'GET');
      return retrievePlan(exchange, parts);
    },
  };
}

async function createPlan(exchange: Exchange, parts: BatchRouteParts): Promise<Plan> {
  const type = contentType(await readJson(exchange), parts.policy.service.types);
  return {
    operation: 'create_batch',
    type,
    async run(fault) {
      const { store, clock } = parts;
      const repeated = fault?.action === 'repeat_id' ? store.newest()?.id : undefined;
      const id = repeated ?? randomUUID();
      if (repeated === undefined) store.create(id, type, clock.now());
      const body: CreateBatchResponse = {
        batch_id: id,
        batch_status: fault?.action === 'state' ? fault.state : 'WAITING_FOR_UPLOAD',
        upload_url: uploadAddress({ ...upload, id, origin: exchange.origin }, fault, parts),
        download_url: null,
        type,
      };
      return jsonAnswer(200, body);
    },
  };
}

async function retrievePlan(exchange: Exchange, parts: BatchRouteParts): Promise<Plan> {
  const id = exchange.path.slice(PATHS.batches.length + 1);
  const known = parts.store.get(id);
  if (known === undefined) throw new Refusal(apiError(404, 'not_found', 'there is no batch with this id'));
  return {
    operation: 'get_batch',
    type: known.type,
    async run(fault) {
      const batch = parts.store.get(id) ?? known;
      const status = fault?.action === 'state' ? fault.state : batch.status;
      const body: GetBatchResponse = {
        batch_id: id,
        type: batch.type,
        batch_status: status,
        upload_url: null,
        download_url:
          status === 'SUCCESS' ? downloadAddress({ folder: RESULTS, id, origin: exchange.origin }, fault, parts) : null,
        ...countsOf(batch),
      };
      return jsonAnswer(200, body);
    },
  };
}

/** @throws Refusal with 400 unless the body is an object with an allowed type. */
function contentType(body: unknown, allowed: readonly string[] | undefined): string {
  const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
  if (typeof type !== 'string' || type === '') {
    throw new Refusal(apiError(400, 'bad_request', 'the body must be a JSON object with a field type, a text that is not empty'));
  }
  if (allowed !== undefined && !allowed.includes(type)) {
    throw new Refusal(
      apiError(400, 'unknown_type', `this type of content is not reviewed here; known are ${allowed.join(', ')}`),
    );
  }
  return type;
}
