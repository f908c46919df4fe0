/** Routes of the interface: batches, imports, decisions, and the storage of their files. */
import { createHash } from 'node:crypto';
import { CONTENT_TYPES, PATHS } from '../../client/src/service/contract.ts';
import { type Answer, apiError, jsonAnswer, RefusedRequest, storageError } from './answers.ts';
import type { Decisions } from './decisions.ts';
import { presign, verifyPresigned } from './presigned.ts';
import { type Call, type Plan, type Route, readBody, readJson, route } from './server.ts';
import {
  WAITING,
  WORK_KINDS,
  type Work,
  type WorkKind,
  type Works,
  type WorksParts,
} from './works.ts';

/** Parts of a running sandbox that are shared by its routes. */
export interface SandboxContext extends Pick<WorksParts, 'policy' | 'clock'> {
  readonly works: Works;
  readonly decisions: Decisions;
  /** Signs presigned addresses. */
  readonly secret: string;
}

const ID = '/([^/]+)';

export function apiRoutes(context: SandboxContext): Route[] {
  const { works, decisions } = context;
  const { types } = context.policy.service;
  return [
    route('POST', PATHS.batches, 'all', async (call) => {
      return creation('batch', contentType(await readJson(call), types), call, context);
    }),
    route('GET', PATHS.batches + ID, 'all', (call, id) => {
      const batch = works.get('batch', id) ?? missing('batch');
      const run = async () => jsonAnswer(200, batchView(batch, call, context));
      return { operation: 'get_batch', type: batch.type, run };
    }),
    route('POST', PATHS.imports, 'all', async (call) => {
      if ((await readBody(call.request, 0)) === undefined) {
        throw new RefusedRequest(apiError(400, 'bad_request', 'this request must not have a body'));
      }
      return creation('import', undefined, call, context);
    }),
    route('GET', PATHS.imports + ID, 'all', (_, id) => {
      const work = works.get('import', id) ?? missing('import');
      const run = async () =>
        jsonAnswer(200, { import_id: id, import_status: work.status, record_count: work.rows });
      return { operation: 'get_import', type: undefined, run };
    }),
    route('GET', PATHS.decision('').slice(0, -1) + ID, 'all', (_, id) => {
      const { type } = decisions.get(id) ?? missing('decision');
      const run = async () => {
        const { metadata, result, labels, status } = decisions.get(id) ?? missing('decision');
        const made = status === 'SUCCESS' ? { result, labels } : { result: null, labels: null };
        return jsonAnswer(200, { decision_id: id, decision_status: status, metadata, ...made });
      };
      return { operation: 'get_decision', type, run };
    }),
  ];
}

function missing(what: string): never {
  throw new RefusedRequest(apiError(404, 'not_found', `there is no ${what} with this id`));
}

function creation(kind: WorkKind, type: string | undefined, call: Call, context: SandboxContext) {
  const { works, policy, clock, secret } = context;
  const { contentType } = WORK_KINDS[kind];
  const run = async (): Promise<Answer> => {
    const { id } = works.create(kind, type, call.request.headers.traceparent?.toString());
    return jsonAnswer(200, {
      [`${kind}_id`]: id,
      [`${kind}_status`]: WAITING,
      upload_url: presign(secret, {
        method: 'PUT',
        origin: call.origin,
        path: `${STORAGE}/${kind}/${id}`,
        contentType,
        parameters: {
          [`x-amz-meta-${kind}_id`]: id,
          'x-amz-meta-policy_id': 'policy-sandbox',
          'x-amz-meta-team_id': 'team-sandbox',
          'x-amz-meta-team_name': 'Sandbox Team',
        },
        signedAtMs: clock.now(),
        validForMs: policy.timing.uploadUrlValidity,
      }),
      ...(kind === 'batch' && { download_url: null, type }),
    });
  };
  return { operation: `create_${kind}`, type, run } as const;
}

/** @throws RefusedRequest with 400 unless the body is an object with an allowed type. */
function contentType(body: unknown, allowed: readonly string[] | undefined): string {
  const { type } = Object(body);
  if (typeof type !== 'string' || type === '') {
    const message = 'the body must be a JSON object with a field "type" that is a non-empty string';
    throw new RefusedRequest(apiError(400, 'bad_request', message));
  }
  if (allowed?.includes(type) === false) {
    const message = `this content type is not reviewed here; the known types are ${allowed.join(', ')}`;
    throw new RefusedRequest(apiError(400, 'unknown_type', message));
  }
  return type;
}

/** Returns a batch. All decisions are counted in one state, because a batch moves as a whole. */
function batchView(batch: Work, { origin }: Call, { secret, policy, clock }: SandboxContext) {
  const { id, type, status, rows, errorRows } = batch;
  const { busy, done, failed } = WORK_KINDS.batch;
  const download = () =>
    presign(secret, {
      ...{ method: 'GET', origin, path: `${STORAGE}/results/${id}` },
      signedAtMs: clock.now(),
      validForMs: policy.timing.downloadUrlValidity,
    });
  return {
    batch_id: id,
    batch_status: status,
    type,
    upload_url: null,
    download_url: status === done ? download() : null,
    batch_count: rows,
    success_count: status === done ? rows - errorRows : 0,
    pending_count: status === WAITING || status === busy ? rows : 0,
    error_count: status === failed ? rows : status === done ? errorRows : 0,
    cancelled_count: status === 'CANCELLED' ? rows : 0,
  };
}

const STORAGE = '/storage';

/** Storage behind presigned addresses, with the responses of S3. */
export function storageRoutes({ works, clock, secret, policy }: SandboxContext): Route[] {
  const verify = (method: string, { request: { headers }, path, query }: Call) =>
    verifyPresigned(secret, { method, path, query, headers }, clock.now());
  const upload = (kind: WorkKind) =>
    route('PUT', `${STORAGE}/${kind}${ID}`, 'none', (call, id) => {
      verify('PUT', call);
      return uploadPlan(works, works.get(kind, id) ?? noSuchKey(), call, policy.storage);
    });
  return [
    upload('batch'),
    upload('import'),
    route('GET', `${STORAGE}/results${ID}`, 'none', (call, id) => {
      verify('GET', call);
      const { type, results = noSuchKey() } = works.get('batch', id) ?? noSuchKey();
      const headers = { 'content-type': CONTENT_TYPES.csv };
      const run = async () => ({ status: 200, headers, body: results });
      return { operation: 'download', type, run };
    }),
    route('PUT', `${STORAGE}.*`, 'none', (call) => verify('PUT', call) ?? noSuchKey()),
    route('GET', `${STORAGE}.*`, 'none', (call) => verify('GET', call) ?? noSuchKey()),
  ];
}

function noSuchKey(): never {
  const message = 'The specified key does not exist.';
  throw new RefusedRequest(storageError(404, 'NoSuchKey', message));
}

function uploadPlan(
  works: Works,
  work: Work,
  { request }: Call,
  { maxUploadBytes }: { readonly maxUploadBytes: number },
): Plan {
  const declared = request.headers['content-length'];
  if (declared === undefined) {
    const message = 'You must provide the Content-Length HTTP header.';
    throw new RefusedRequest(storageError(411, 'MissingContentLength', message));
  }
  if (Number(declared) > maxUploadBytes) {
    const message = 'Your proposed upload exceeds the maximum allowed size';
    throw new RefusedRequest(storageError(400, 'EntityTooLarge', message));
  }
  return {
    operation: WORK_KINDS[work.kind].upload,
    type: work.type,
    async run(read) {
      // If a body is cut, Node ends it with an error.
      const body = read ?? (await readBody(request, maxUploadBytes)) ?? Buffer.alloc(0);
      works.uploaded(work, body);
      const etag = `"${createHash('sha256').update(body).digest('hex')}"`;
      return { status: 200, headers: { etag }, body: '' };
    },
  };
}
