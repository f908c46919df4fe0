/** Routes of the interface: batches, imports and decisions. */
import { buffer } from 'node:stream/consumers';
import { PATHS } from '../../client/src/service/contract.ts';
import {
  resultName,
  WAITING,
  WORK_KINDS,
  type Work,
  type WorkKind,
} from './batches-and-imports.ts';
import type { SandboxContext } from './context.ts';
import type { Fault } from './faults.ts';
import { apiError, apiRefusal, jsonAnswer, type PlannedAnswer } from './http-answer.ts';
import { readJson, route, type SandboxCall, type SandboxRoute } from './http-server.ts';
import { presign } from './object-store.ts';
import { STORAGE_PREFIX } from './storage-routes.ts';

/** Longest part of an upload that a `quote` fault repeats. */
const QUOTED_BYTES = 4096;

export function apiRoutes(context: SandboxContext): SandboxRoute[] {
  const { types } = context.policy.service;
  const id = '/([^/]+)';
  return [
    route('POST', PATHS.batches, 'all', async (call) => {
      return createPlan('batch', contentType(await readJson(call), types), call, context);
    }),
    route('GET', PATHS.batches + id, 'all', (call, batchId) => {
      return retrievePlan('batch', batchId, call, context);
    }),
    route('POST', PATHS.imports, 'all', async (call) => {
      const { length } = await buffer(call.request);
      if (length > 0) throw apiRefusal(400, 'bad_request', 'send no body here');
      return createPlan('import', undefined, call, context);
    }),
    route('GET', PATHS.imports + id, 'all', (call, importId) => {
      return retrievePlan('import', importId, call, context);
    }),
    route('GET', PATHS.decision('').slice(0, -1) + id, 'all', (_, decisionId) => {
      return decisionPlan(decisionId, context);
    }),
  ];
}

function createPlan(
  kind: WorkKind,
  type: string | undefined,
  { origin, request }: SandboxCall,
  context: SandboxContext,
): PlannedAnswer {
  const { works, policy } = context;
  const traceparent = request.headers.traceparent?.toString();
  return {
    operation: `create_${kind}`,
    type,
    async run(fault) {
      const isAlike = (work: Work) => work.type === type;
      const repeated =
        fault?.action === 'repeat_id' ? works.all(kind).findLast(isAlike) : undefined;
      const { id } = repeated ?? works.create(kind, type, traceparent);
      const { policyId, teamId, teamName } = policy.service;
      return jsonAnswer(200, {
        [`${kind}_id`]: id,
        [`${kind}_status`]: fault?.action === 'state' ? fault.state : WAITING,
        upload_url: presign(context.secret, {
          method: 'PUT',
          origin,
          path: STORAGE_PREFIX + WORK_KINDS[kind].objectName(id),
          contentType: WORK_KINDS[kind].contentType,
          parameters: {
            [`x-amz-meta-${kind}_id`]: id,
            'x-amz-meta-policy_id': policyId,
            'x-amz-meta-team_id': teamId,
            'x-amz-meta-team_name': teamName,
          },
          ...validity(policy.timing.uploadUrlValidity, fault, context),
        }),
        ...(kind === 'batch' && { download_url: null, type }),
      });
    },
  };
}

function retrievePlan(
  kind: WorkKind,
  id: string,
  { origin }: SandboxCall,
  context: SandboxContext,
): PlannedAnswer {
  const { works, policy } = context;
  const known = works.get(kind, id);
  if (known === undefined) throw apiRefusal(404, 'not_found', `there is no ${kind} with this id`);
  return {
    operation: `get_${kind}`,
    type: known.type,
    async run(fault) {
      const work = works.get(kind, id) ?? known;
      let status = fault?.action === 'state' ? fault.state : work.status;
      if (fault?.action === 'quote') {
        status = await firstRows(work, context);
        const message = `batch row 1 cannot be reviewed: ${status}`;
        if (fault.in === 'message') return apiError(fault.status, 'bad_row', message);
      }
      const named = { [`${kind}_id`]: id, [`${kind}_status`]: status };
      if (kind === 'import') {
        return jsonAnswer(200, { ...named, record_count: work.outcome?.rows ?? 0 });
      }
      const download = () =>
        presign(context.secret, {
          method: 'GET',
          origin,
          path: STORAGE_PREFIX + resultName(id),
          ...validity(policy.timing.downloadUrlValidity, fault, context),
        });
      return jsonAnswer(200, {
        ...named,
        type: work.type,
        upload_url: null,
        download_url: status === 'SUCCESS' ? download() : null,
        ...countsOf(work),
      });
    },
  };
}

function decisionPlan(id: string, { decisions }: SandboxContext): PlannedAnswer {
  const known = decisions.get(id);
  if (known === undefined) {
    throw apiRefusal(404, 'not_found', 'there is no decision with this id');
  }
  return {
    operation: 'get_decision',
    type: known.type,
    async run(fault) {
      const { metadata, result, labels, status } = decisions.get(id) ?? known;
      const shown = fault?.action === 'state' ? fault.state : status;
      const isMade = shown === 'SUCCESS';
      return jsonAnswer(200, {
        decision_id: id,
        decision_status: shown,
        metadata,
        result: isMade ? result : null,
        labels: isMade ? labels : null,
      });
    },
  };
}

/** Numbers of decisions by state: all in one, since a batch moves as a whole. */
function countsOf({ status, outcome }: Work) {
  const { rows = 0, errorRows = 0 } = outcome ?? {};
  const isDone = status === WORK_KINDS.batch.done;
  const isError = status === WORK_KINDS.batch.failed;
  return {
    batch_count: rows,
    success_count: isDone ? rows - errorRows : 0,
    pending_count: status === WAITING || status === WORK_KINDS.batch.busy ? rows : 0,
    error_count: isError ? rows : isDone ? errorRows : 0,
    cancelled_count: status === 'CANCELLED' ? rows : 0,
  };
}

/** An expired address is a valid one that was signed too long ago. */
function validity(validForMs: number, fault: Fault | undefined, { clock }: SandboxContext) {
  const ageMs = fault?.action === 'expired_url' ? validForMs + 60_000 : 0;
  return { signedAtMs: clock.now() - ageMs, validForMs };
}

/** Beginning of the upload, without its header. */
async function firstRows({ id }: Work, { objects }: SandboxContext): Promise<string> {
  const name = WORK_KINDS.batch.objectName(id);
  if (objects.size(name) === undefined) return '';
  const text = await buffer(objects.read(name));
  return text.subarray(text.indexOf('\n') + 1, QUOTED_BYTES).toString();
}

/** @throws RefusedRequest with 400 unless the body is an object with an allowed type. */
function contentType(body: unknown, allowed: readonly string[] | undefined): string {
  const { type } = Object(body);
  if (typeof type !== 'string' || type === '') {
    const message = 'the body must be a JSON object with a field type, a text that is not empty';
    throw apiRefusal(400, 'bad_request', message);
  }
  if (allowed?.includes(type) === false) {
    const known = allowed.join(', ');
    const message = `this type of content is not reviewed here; known are ${known}`;
    throw apiRefusal(400, 'unknown_type', message);
  }
  return type;
}
