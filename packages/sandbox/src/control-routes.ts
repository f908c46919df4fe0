/** Routes that only the sandbox has: its health, and its state for tests and other checkers. */
import { CONTENT_TYPES } from '../../client/src/service/contract.ts';
import { apiError, jsonAnswer, RefusedRequest } from './answers.ts';
import type { SandboxContext } from './api-routes.ts';
import type { MadeDecision } from './decisions.ts';
import { type Route, readJson, route } from './server.ts';
import { InvalidSandboxInput } from './settings.ts';
import type { Work } from './works.ts';

/** Routes for callers on the same machine. Others need an API key, except for the health. */
export function controlRoutes({ works, decisions }: SandboxContext): Route[] {
  return [
    route('GET', '/sandbox/health', 'none', () => jsonAnswer(200, { status: 'ok' })),
    route('GET', '/sandbox/batches', 'remote', () =>
      jsonAnswer(200, { batches: works.all('batch').map(batchSummary) }),
    ),
    route('GET', '/sandbox/imports', 'remote', () =>
      jsonAnswer(200, { imports: works.all('import').map(importSummary) }),
    ),
    route('GET', '/sandbox/imports/([^/]+)/content', 'remote', (_, id) => {
      const body = works.get('import', id)?.upload;
      if (body !== undefined)
        return { status: 200, headers: { 'content-type': CONTENT_TYPES.jsonl }, body };
      throw new RefusedRequest(apiError(404, 'not_found', 'there is nothing at this path'));
    }),
    route('POST', '/sandbox/decisions', 'remote', async (call) => {
      const list = (await readJson(call)) as MadeDecision[];
      try {
        return jsonAnswer(200, { decision_ids: decisions.make(list) });
      } catch (error) {
        if (!(error instanceof InvalidSandboxInput)) throw error;
        throw new RefusedRequest(apiError(400, 'bad_request', error.message));
      }
    }),
  ];
}

/** State of a batch for checkers. Its counts are 0 until the rows are read. */
export type BatchSummary = Readonly<ReturnType<typeof batchSummary>>;
/** State of an import for checkers. `records` is 0 until they are read, and for an invalid file. */
export type ImportSummary = Readonly<ReturnType<typeof importSummary>>;

export function batchSummary(work: Work) {
  const { id, type = '', status, rows, errorRows } = work;
  return {
    ...{ batch_id: id, type, batch_status: status, rows, error_rows: errorRows },
    ...summaryOf(work),
  };
}

export function importSummary(work: Work) {
  const { id, status, rows } = work;
  return { import_id: id, import_status: status, records: rows, ...summaryOf(work) };
}

/**
 * Times are ISO 8601, or null before the event. `fault` is the fault that was applied, `problem` the
 * reason of a failure, `traceparent` the header of the call that created the work.
 */
function summaryOf({ createdMs, uploadedMs, finishedMs, fault, problem, traceparent }: Work) {
  const time = (ms?: number) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    created: new Date(createdMs).toISOString(),
    uploaded: time(uploadedMs),
    finished: time(finishedMs),
    fault: fault?.action ?? null,
    problem: problem ?? null,
    traceparent: traceparent ?? null,
  };
}
