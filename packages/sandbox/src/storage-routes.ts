/** The storage behind presigned addresses. It answers as S3 does (table in packages/sandbox/README.md). */
import { CONTENT_TYPES } from '../../client/src/service/contract.ts';
import { resultName, WAITING, WORK_KINDS, type Work } from './batches-and-imports.ts';
import type { SandboxContext } from './context.ts';
import type { Fault } from './faults.ts';
import { type PlannedAnswer, type SandboxAnswer, storageRefusal } from './http-answer.ts';
import { slowed } from './http-send.ts';
import { route, type SandboxCall, type SandboxRoute } from './http-server.ts';
import { verifyPresigned } from './object-store.ts';

/** Path of the storage; names of objects follow. */
export const STORAGE_PREFIX = '/storage/';

export function storageRoutes(context: SandboxContext): SandboxRoute[] {
  const { works, clock, secret, objects } = context;
  return [
    route('*', '/storage(?:/.*)?', 'none', (call) => {
      verifyPresigned(secret, { ...call, headers: call.request.headers }, clock.now());
      const name = call.path.slice(STORAGE_PREFIX.length);
      const [, id = ''] = /\/([\w-]+)\.\w+$/.exec(name) ?? [];
      for (const kind of ['batch', 'import'] as const) {
        const work = name === WORK_KINDS[kind].objectName(id) ? works.get(kind, id) : undefined;
        if (work !== undefined) return uploadPlan(work, call, context);
      }
      const batch = name === resultName(id) ? works.get('batch', id) : undefined;
      const bytes = batch && objects.size(name);
      if (bytes === undefined) {
        throw storageRefusal(404, 'NoSuchKey', 'The specified key does not exist.');
      }
      const headers = { 'content-type': CONTENT_TYPES.csv, 'content-length': String(bytes) };
      const run = async () => ({ status: 200, headers, body: objects.read(name) });
      return { operation: 'download', type: batch?.type, run };
    }),
  ];
}

function uploadPlan(work: Work, { request }: SandboxCall, context: SandboxContext): PlannedAnswer {
  const declared = request.headers['content-length'];
  if (declared === undefined) {
    const message = 'You must provide the Content-Length HTTP header.';
    throw storageRefusal(411, 'MissingContentLength', message);
  }
  if (Number(declared) > context.policy.storage.maxUploadBytes) {
    const message = 'Your proposed upload exceeds the maximum allowed size';
    throw storageRefusal(400, 'EntityTooLarge', message);
  }
  return {
    operation: WORK_KINDS[work.kind].upload,
    type: work.type,
    run: (fault) => receive(work, request, fault, context),
  };
}

/** Writes the body and makes it the object; a body that ends early leaves nothing. */
async function receive(
  work: Work,
  request: SandboxCall['request'],
  fault: Fault | undefined,
  { objects, works, closing }: SandboxContext,
): Promise<SandboxAnswer> {
  const { kind, id } = work;
  // Once the work has begun the first upload counts, also for work that a restart resumed.
  const isEarly = () => works.get(kind, id)?.status === WAITING;
  let isKept = false;
  const body = slowed(request, fault, closing);
  const { etag } = await objects.write(WORK_KINDS[kind].objectName(id), body, (written) => {
    if (written.bytes !== Number(request.headers['content-length'])) {
      throw new Error('the upload was cut');
    }
    isKept = isEarly();
    return isKept;
  });
  if (isKept) works.uploaded(work, fault?.action === 'late_event' ? fault.by : 0);
  return { status: 200, headers: { etag }, body: '' };
}
