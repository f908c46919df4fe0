/** What only a sandbox has: its health, its fault script, and a look inside for checkers. */
import { CONTENT_TYPES } from '../service/contract.ts';
import type { BatchStore } from './batches/batch-store.ts';
import { countsOf } from './batches/batch-store.ts';
import type { Decisions } from './decisions/decisions.ts';
import type { MadeDecision } from './decisions/made-decisions.ts';
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
  readonly decisions: Decisions;
  /** @throws InvalidSandboxInput */
  readonly makeDecisions: (list: readonly MadeDecision[]) => string[];
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
          return jsonAnswer(200, {
            totals: batches.totals(),
            batches: batches.all().map(summaryOf),
          });
        case '/sandbox/imports':
          requireMethod(exchange, 'GET');
          return jsonAnswer(200, {
            totals: imports.totals(),
            imports: imports.all().map(importSummaryOf),
          });
        case '/sandbox/decisions':
          requireMethod(exchange, 'POST');
          return jsonAnswer(200, { decision_ids: await given(exchange, parts.makeDecisions) });
        case '/sandbox/faults':
          requireMethod(exchange, 'GET', 'PUT', 'POST');
          return scriptAnswer(exchange, faults);
        case '/sandbox/keys':
          requireMethod(exchange, 'PUT');
          return keysAnswer(exchange, apiKeys);
        default:
          requireMethod(exchange, 'GET');
          return inside(exchange.path, parts);
      }
    },
  };
}

/** GET /sandbox/batches/{batch_id}/decisions, and GET /sandbox/imports/{import_id}/content: the upload as it came. */
async function inside(
  path: string,
  { decisions, imports, importFiles }: ControlRouteParts,
): Promise<Answer> {
  const [, batchId, importId] =
    /^\/sandbox\/(?:batches\/([\w-]+)\/decisions|imports\/([\w-]+)\/content)$/.exec(path) ?? [];
  const ids = batchId === undefined ? undefined : decisions.idsOf(batchId);
  if (ids !== undefined) return jsonAnswer(200, { decision_ids: ids });
  const file = IMPORTS.fileName((importId !== undefined && imports.get(importId)?.id) || '');
  const object = await importFiles.info(file);
  if (object === undefined)
    throw new Refusal(apiError(404, 'not_found', 'there is nothing at this path'));
  const headers = { 'content-type': CONTENT_TYPES.jsonl, 'content-length': String(object.bytes) };
  return { status: 200, headers, body: importFiles.read(file) };
}

async function scriptAnswer(exchange: Exchange, script: FaultScript): Promise<Answer> {
  const change = { PUT: script.replace, POST: script.append }[exchange.method];
  if (change !== undefined)
    await given(exchange, (faults: readonly FaultInput[]) => change.call(script, faults));
  return jsonAnswer(200, { faults: script.entries() });
}

/** Does something with the JSON body. @throws Refusal with 400 that says what is wrong with it. */
async function given<Input, Output>(
  exchange: Exchange,
  use: (input: Input) => Output,
): Promise<Output> {
  const input = (await readJson(exchange)) as Input;
  try {
    return use(input);
  } catch (error) {
    if (error instanceof InvalidSandboxInput)
      throw new Refusal(apiError(400, 'bad_request', error.message));
    throw error;
  }
}

async function keysAnswer(exchange: Exchange, apiKeys: ApiKeys): Promise<Answer> {
  const keys = await readJson(exchange);
  if (
    !Array.isArray(keys) ||
    keys.length === 0 ||
    !keys.every((key) => typeof key === 'string' && /^\S+$/.test(key))
  ) {
    throw new Refusal(
      apiError(
        400,
        'bad_request',
        'the body must be a JSON list of at least one key, each a text without spaces',
      ),
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
