/** Routes that only a sandbox has: its health, and a look inside for checkers. */
import { CONTENT_TYPES } from '../../client/src/service/contract.ts';
import { WORK_KINDS, type Work, type WorkKind } from './batches-and-imports.ts';
import type { SandboxContext } from './context.ts';
import type { MadeDecision } from './decisions.ts';
import { apiRefusal, jsonAnswer } from './http-answer.ts';
import { readJson, route, type SandboxCall, type SandboxRoute } from './http-server.ts';
import { InvalidSandboxInput } from './input.ts';

/** Open to callers on the same machine; others need an API key. Health is open to all. */
export function controlRoutes(context: SandboxContext): SandboxRoute[] {
  const { works, decisions, objects } = context;
  const control = (method: string, path: string, handle: SandboxRoute['handle']) =>
    route(method, `/sandbox/${path}`, 'remote', handle);
  const list = (kind: WorkKind, name: string, parts: string, summary: (work: Work) => object) =>
    control('GET', name, () => {
      const all = works.all(kind);
      const uploads = all.filter(({ uploadedMs }) => uploadedMs !== null).length;
      const rows = all.reduce((sum, { outcome }) => sum + (outcome?.rows ?? 0), 0);
      const totals = { [name]: all.length, uploads, [parts]: rows };
      return jsonAnswer(200, { totals, [name]: all.map(summary) });
    });
  const nothing = () => apiRefusal(404, 'not_found', 'there is nothing at this path');

  return [
    route('GET', '/sandbox/health', 'none', () => jsonAnswer(200, { status: 'ok' })),
    list('batch', 'batches', 'rows', batchSummary),
    list('import', 'imports', 'records', importSummary),
    control('GET', 'imports/([^/]+)/content', (_, id) => {
      const name = WORK_KINDS.import.objectName(works.get('import', id)?.id ?? '');
      const bytes = objects.size(name);
      if (bytes === undefined) throw nothing();
      const headers = { 'content-type': CONTENT_TYPES.jsonl, 'content-length': String(bytes) };
      return { status: 200, headers, body: objects.read(name) };
    }),
    control('POST', 'decisions', async (call) => {
      const ids = await valid(call, (list: MadeDecision[]) => decisions.make(list));
      return jsonAnswer(200, { decision_ids: ids });
    }),
  ];
}

/** Result of `use` for the JSON body. @throws RefusedRequest with 400 that names what is wrong with it. */
async function valid<Input, Output>(
  call: SandboxCall,
  use: (input: Input) => Output,
): Promise<Output> {
  const input = (await readJson(call)) as Input;
  try {
    return use(input);
  } catch (error) {
    if (!(error instanceof InvalidSandboxInput)) throw error;
    throw apiRefusal(400, 'bad_request', error.message);
  }
}

/** State of a batch for checkers; its numbers are 0 before the rows are read. */
export type BatchSummary = Readonly<ReturnType<typeof batchSummary>>;
/** State of an import for checkers; `records` is 0 before they are read, and for an invalid file. */
export type ImportSummary = Readonly<ReturnType<typeof importSummary>>;

export function batchSummary(work: Work) {
  const { id, type = '', status, outcome } = work;
  return {
    batch_id: id,
    type,
    batch_status: status,
    rows: outcome?.rows ?? 0,
    error_rows: outcome?.errorRows ?? 0,
    ...summaryOf(work),
  };
}

export function importSummary(work: Work) {
  const { id, status, outcome } = work;
  return {
    import_id: id,
    import_status: status,
    records: outcome?.rows ?? 0,
    ...summaryOf(work),
  };
}

/**
 * Times are ISO 8601, null before; `fault` is the one that hit it, `problem` the reason of a failure,
 * `traceparent` the header of the call that created it.
 */
function summaryOf({ createdMs, uploadedMs, finishedMs, fault, outcome, traceparent }: Work) {
  const time = (ms: number | null) => ms && new Date(ms).toISOString();
  return {
    created: new Date(createdMs).toISOString(),
    uploaded: time(uploadedMs) || null,
    finished: time(finishedMs) || null,
    fault: fault?.action ?? null,
    problem: outcome?.problem ?? null,
    traceparent: traceparent ?? null,
  };
}
