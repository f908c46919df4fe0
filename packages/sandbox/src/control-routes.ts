/** Routes that only a sandbox has: its health, and a look inside for checkers. */
import { CONTENT_TYPES } from '../../client/src/service/contract.ts';
import { apiError, jsonAnswer, RefusedRequest } from './answers.ts';
import type { SandboxContext } from './api-routes.ts';
import type { MadeDecision } from './decisions.ts';
import { type Route, readJson, route } from './server.ts';
import { InvalidSandboxInput } from './settings.ts';
import type { Work } from './works.ts';

/** Open to callers on the same machine; others need an API key. Health is open to all. */
export function controlRoutes({ works, decisions }: SandboxContext): Route[] {
  const totals = (all: readonly Work[]) => ({
    uploads: all.filter(({ uploadedMs }) => uploadedMs !== undefined).length,
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
  });
  const upload = (kind: 'batch' | 'import', id: string) => {
    const body = works.get(kind, id)?.upload;
    if (body === undefined)
      throw new RefusedRequest(apiError(404, 'not_found', 'there is nothing at this path'));
    const type = kind === 'batch' ? CONTENT_TYPES.csv : CONTENT_TYPES.jsonl;
    return { status: 200, headers: { 'content-type': type }, body };
  };
  return [
    route('GET', '/sandbox/health', 'none', () => jsonAnswer(200, { status: 'ok' })),
    route('GET', '/sandbox/batches', 'remote', () => {
      const all = works.all('batch');
      const { uploads, rows } = totals(all);
      const batches = all.map(batchSummary);
      return jsonAnswer(200, { totals: { batches: all.length, uploads, rows }, batches });
    }),
    route('GET', '/sandbox/imports', 'remote', () => {
      const all = works.all('import');
      const { uploads, rows: records } = totals(all);
      const imports = all.map(importSummary);
      return jsonAnswer(200, { totals: { imports: all.length, uploads, records }, imports });
    }),
    route('GET', '/sandbox/batches/([^/]+)/content', 'remote', (_, id) => upload('batch', id)),
    route('GET', '/sandbox/imports/([^/]+)/content', 'remote', (_, id) => upload('import', id)),
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

/** State of a batch for checkers; its numbers are 0 before the rows are read. */
export type BatchSummary = Readonly<ReturnType<typeof batchSummary>>;
/** State of an import for checkers; `records` is 0 before they are read, and for an invalid file. */
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
 * Times are ISO 8601, null before; `fault` is the one that hit it, `problem` the reason of a failure,
 * `traceparent` the header of the call that created it.
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
