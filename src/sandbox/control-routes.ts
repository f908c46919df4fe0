/** What only a sandbox has: its health, its fault script, and a look inside for checkers. */
import { CONTENT_TYPES } from '../service/contract.ts';
import type { BatchStore } from './batches/batch-store.ts';
import { countsOf } from './batches/batch-store.ts';
import type { FaultInput } from './faults/schema.ts';
import type { FaultScript } from './faults/script.ts';
import { type Answer, apiError, jsonAnswer, Refusal } from './http/answer.ts';
import type { ApiKeys, Authorize } from './http/bearer.ts';
import { type Exchange, type RouteGroup, readJson, requireMethod } from './http/exchange.ts';
import type { ImportStore } from './imports/import-store.ts';
import { importSummaryOf } from './imports/import-summary.ts';
import { InvalidSandboxInput } from './policy/invalid.ts';
import type { ObjectStore } from './storage/object-store.ts';
import { IMPORTS } from './storage/paths.ts';

export interface ControlRouteParts {
  readonly batches: BatchStore;
  readonly imports: ImportStore;
  readonly importFiles: ObjectStore;
  readonly faults: FaultScript;
  readonly apiKeys: ApiKeys;
  readonly authorize: Authorize;
}

/** Open to callers on the same machine; from elsewhere they need an API key. Health is open to all. */
export function controlRoutes(parts: ControlRouteParts): RouteGroup {
  const { batches, imports, faults, apiKeys, authorize } = parts;
  return {
    prefix: '/sandbox',
    async handle(exchange) {
      if (exchange.path === '/sandbox/health') {
        requireMethod(exchange, 'GET');
        return jsonAnswer(200, { status: 'ok' });
      }
      if (!isLoopback(exchange.request.socket.remoteAddress)) authorize(exchange.request);
      switch (exchange.path) {
        case '/sandbox/batches':
          requireMethod(exchange, 'GET');
          return jsonAnswer(200, { totals: batches.totals(), batches: batches.all().map(summaryOf) });
        case '/sandbox/imports':
          requireMethod(exchange, 'GET');
          return jsonAnswer(200, { totals: imports.totals(), imports: imports.all().map(importSummaryOf) });
        case '/sandbox/faults':
          requireMethod(exchange, 'GET', 'PUT', 'POST');
          return scriptAnswer(exchange, faults);
        case '/sandbox/keys':
          requireMethod(exchange, 'PUT');
          return keysAnswer(exchange, apiKeys);
        default:
          requireMethod(exchange, 'GET');
          return importContent(exchange.path, parts);
      }
    },
  };
}

/** The upload of an import, as it came: GET /sandbox/imports/{import_id}/content. */
async function importContent(path: string, { imports, importFiles }: ControlRouteParts): Promise<Answer> {
  const [, id] = /^\/sandbox\/imports\/([\w-]+)\/content$/.exec(path) ?? [];
  const name = id === undefined || imports.get(id) === undefined ? '' : IMPORTS.fileName(id);
  const object = name === '' ? undefined : await importFiles.info(name);
  if (object === undefined) throw new Refusal(apiError(404, 'not_found', 'there is nothing at this path'));
  const headers = { 'content-type': CONTENT_TYPES.jsonl, 'content-length': String(object.bytes) };
  return { status: 200, headers, body: importFiles.read(name) };
}

async function scriptAnswer(exchange: Exchange, script: FaultScript): Promise<Answer> {
  if (exchange.method !== 'GET') {
    const faults = (await readJson(exchange)) as readonly FaultInput[];
    try {
      if (exchange.method === 'PUT') script.replace(faults);
      else script.append(faults);
    } catch (error) {
      if (error instanceof InvalidSandboxInput) throw new Refusal(apiError(400, 'bad_request', error.message));
      throw error;
    }
  }
  return jsonAnswer(200, { faults: script.entries() });
}

async function keysAnswer(exchange: Exchange, apiKeys: ApiKeys): Promise<Answer> {
  const keys = await readJson(exchange);
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every((key) => typeof key === 'string' && /^\S+$/.test(key))) {
    throw new Refusal(
      apiError(400, 'bad_request', 'the body must be a JSON list of at least one key, each a text without spaces'),
    );
  }
  apiKeys.replace(keys);
  return jsonAnswer(200, { keys: keys.length });
}

export interface BatchSummary {
  readonly batch_id: string;
  readonly type: string;
  readonly batch_status: string;
  /** Rows of the upload; 0 before they are read. */
  readonly rows: number;
  readonly error_rows: number;
  /** ISO 8601. */
  readonly created: string;
  readonly uploaded: string | null;
  /** When results (or the failure) were there; ISO 8601, null before. */
  readonly finished: string | null;
  /** The scripted fault of its review. */
  readonly fault: string | null;
  /** Why it went to ERROR. */
  readonly problem: string | null;
}

export function summaryOf(batch: ReturnType<BatchStore['all']>[number]): BatchSummary {
  return {
    batch_id: batch.id,
    type: batch.type,
    batch_status: batch.status,
    rows: countsOf(batch).batch_count,
    error_rows: batch.errorRows,
    created: new Date(batch.createdMs).toISOString(),
    uploaded: batch.uploadedMs === null ? null : new Date(batch.uploadedMs).toISOString(),
    finished: batch.finishedMs === null ? null : new Date(batch.finishedMs).toISOString(),
    fault: batch.fault?.action ?? null,
    problem: batch.problem,
  };
}

function isLoopback(address: string | undefined): boolean {
  return address === '::1' || /^(::ffff:)?127\./.test(address ?? '');
}
