/** POST /v1/batches and GET /v1/batches/{batch_id} (service-interface.md 4.1, 4.2). */
import { randomUUID } from 'node:crypto';
import {
  CONTENT_TYPES,
  type CreateBatchResponse,
  type GetBatchResponse,
  PATHS,
} from '../../service/contract.ts';
import type { Fault } from '../faults/schema.ts';
import { apiError, jsonAnswer, type Plan, Refusal } from '../http/answer.ts';
import type { Authorize } from '../http/bearer.ts';
import { type Exchange, type RouteGroup, readJson, requireMethod } from '../http/exchange.ts';
import { type AddressParts, downloadAddress, uploadAddress } from '../storage/addresses.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { RESULTS, UPLOADS } from '../storage/paths.ts';
import { type BatchStore, countsOf } from './batch-store.ts';

export interface BatchRouteParts extends AddressParts {
  readonly store: BatchStore;
  readonly uploads: ObjectStore;
  readonly authorize: Authorize;
}

/** Longest part of an upload that a `quote` fault repeats. */
const QUOTED_BYTES = 4096;

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
      const fits = (batch: { readonly type: string }) =>
        (fault?.match.type ?? batch.type) === batch.type;
      const repeated = fault?.action === 'repeat_id' ? store.newest(fits)?.id : undefined;
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
  if (known === undefined)
    throw new Refusal(apiError(404, 'not_found', 'there is no batch with this id'));
  return {
    operation: 'get_batch',
    type: known.type,
    async run(fault) {
      const batch = parts.store.get(id) ?? known;
      const quoted = fault?.action === 'quote' ? await firstRow(id, parts.uploads) : '';
      if (fault?.action === 'quote' && fault.in === 'message') {
        return apiError(fault.status, 'bad_row', `batch row 1 cannot be reviewed: ${quoted}`);
      }
      const status = statusTold(fault, quoted) ?? batch.status;
      const body: GetBatchResponse = {
        batch_id: id,
        type: batch.type,
        batch_status: status,
        upload_url: null,
        download_url:
          status === 'SUCCESS'
            ? downloadAddress({ folder: RESULTS, id, origin: exchange.origin }, fault, parts)
            : null,
        ...countsOf(batch),
      };
      return jsonAnswer(200, body);
    },
  };
}

function statusTold(fault: Fault | undefined, quoted: string): string | undefined {
  if (fault?.action === 'quote') return quoted;
  return fault?.action === 'state' ? fault.state : undefined;
}

/** The beginning of what was uploaded, without its header. */
async function firstRow(id: string, uploads: ObjectStore): Promise<string> {
  const name = UPLOADS.fileName(id);
  if (!uploads.has(name)) return '';
  const text = (await uploads.read(name, { start: 0, end: QUOTED_BYTES - 1 }).toArray()).join('');
  return text.slice(text.indexOf('\n') + 1);
}

/** @throws Refusal with 400 unless the body is an object with an allowed type. */
function contentType(body: unknown, allowed: readonly string[] | undefined): string {
  const type = typeof body === 'object' && body !== null && 'type' in body ? body.type : undefined;
  if (typeof type !== 'string' || type === '') {
    throw new Refusal(
      apiError(
        400,
        'bad_request',
        'the body must be a JSON object with a field type, a text that is not empty',
      ),
    );
  }
  if (allowed !== undefined && !allowed.includes(type)) {
    throw new Refusal(
      apiError(
        400,
        'unknown_type',
        `this type of content is not reviewed here; known are ${allowed.join(', ')}`,
      ),
    );
  }
  return type;
}
