/** The storage behind presigned addresses. It answers as S3 does (table in docs/sandbox.md). */
import { CONTENT_TYPES } from '../../service/contract.ts';
import type { SandboxContext } from '../context.ts';
import type { Fault } from '../faults/schema.ts';
import { type PlannedAnswer, Refusal, type SandboxAnswer, storageRefusal } from '../http/answer.ts';
import { slowed } from '../http/send.ts';
import type { SandboxCall, SandboxRoute } from '../http/server.ts';
import { resultName, WAITING, WORK_KINDS, type Work } from '../works.ts';
import type { ByteRange } from './object-store.ts';
import { verifyPresigned } from './presign.ts';

/** Path of the storage; names of objects follow. */
export const STORAGE_PREFIX = '/storage/';

export function storageRoutes(context: SandboxContext): SandboxRoute[] {
  const { works, clock, secret } = context;
  return [
    {
      method: '*',
      path: /^\/storage(?:\/.*)?$/,
      key: 'none',
      handle(call) {
        verifyPresigned(secret, { ...call, headers: call.request.headers }, clock.now());
        const name = call.path.slice(STORAGE_PREFIX.length);
        const [, id = ''] = /\/([\w-]+)\.\w+$/.exec(name) ?? [];
        for (const kind of ['batch', 'import'] as const) {
          const work = name === WORK_KINDS[kind].objectName(id) ? works.get(kind, id) : undefined;
          if (work !== undefined) return uploadPlan(work, call, context);
        }
        const batch = name === resultName(id) ? works.get('batch', id) : undefined;
        if (batch?.outcome == null) throw noSuchKey();
        return downloadPlan(batch, batch.outcome.etag, call, context);
      },
    },
  ];
}

function noSuchKey(): Refusal {
  return storageRefusal(404, 'NoSuchKey', 'The specified key does not exist.');
}

function uploadPlan(work: Work, { request }: SandboxCall, context: SandboxContext): PlannedAnswer {
  const { 'content-length': declared, 'content-md5': md5Header } = request.headers;
  if (declared === undefined) {
    const message = 'You must provide the Content-Length HTTP header.';
    throw storageRefusal(411, 'MissingContentLength', message);
  }
  if (Number(declared) > context.policy.storage.maxUploadBytes) {
    const message = 'Your proposed upload exceeds the maximum allowed size';
    throw storageRefusal(400, 'EntityTooLarge', message);
  }
  const md5 = md5Header === undefined ? undefined : Buffer.from(String(md5Header), 'base64');
  if (md5 !== undefined && md5.length !== 16) {
    const message = 'The Content-MD5 you specified is not valid.';
    throw storageRefusal(400, 'InvalidDigest', message);
  }
  return {
    operation: WORK_KINDS[work.kind].upload,
    type: work.type,
    run: (fault) => receive(work, request, md5, fault, context),
  };
}

/** Writes the body and makes it the object; a body that ends early leaves nothing. */
async function receive(
  work: Work,
  request: SandboxCall['request'],
  md5: Buffer | undefined,
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
    if (md5?.equals(written.md5) === false) {
      const message = 'The Content-MD5 you specified did not match what we received.';
      throw storageRefusal(400, 'BadDigest', message);
    }
    isKept = isEarly();
    return isKept;
  });
  if (isKept) works.uploaded(work, fault?.action === 'late_event' ? fault.by : 0);
  return { status: 200, headers: { etag }, body: '' };
}

function downloadPlan(
  { id, type }: Work,
  etag: string,
  { request }: SandboxCall,
  { objects }: SandboxContext,
): PlannedAnswer {
  const name = resultName(id);
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, range: rangeHeader } = request.headers;
  const matches = (condition: string) =>
    condition.split(',').some((part) => part.trim() === '*' || part.trim() === etag);
  if (!objects.has(name)) throw noSuchKey();
  if (ifMatch !== undefined && !matches(ifMatch)) {
    const message = 'At least one of the pre-conditions you specified did not hold';
    throw storageRefusal(412, 'PreconditionFailed', message);
  }
  if (ifNoneMatch !== undefined && matches(ifNoneMatch)) {
    throw new Refusal({ status: 304, headers: { etag }, body: '' });
  }

  const run = async (): Promise<SandboxAnswer> => {
    const object = await objects.info(name);
    if (object === undefined) throw noSuchKey();
    const { size, mtime } = object;
    const range = byteRange(rangeHeader, size);
    if (range === 'unsatisfiable') {
      const message = 'The requested range is not satisfiable';
      throw storageRefusal(416, 'InvalidRange', message, { 'content-range': `bytes */${size}` });
    }
    const { start, end } = range ?? { start: 0, end: size - 1 };
    const headers = {
      'content-type': CONTENT_TYPES.csv,
      'content-length': String(end - start + 1),
      etag,
      'last-modified': mtime.toUTCString(),
      'accept-ranges': 'bytes',
      ...(range && { 'content-range': `bytes ${start}-${end}/${size}` }),
    };
    return { status: range ? 206 : 200, headers, body: objects.read(name, range) };
  };
  return { operation: 'download', type, run };
}

/**
 * Range that a Range header names in a file of `size` bytes. `undefined`: the whole file (no
 * header, several ranges, or one that cannot be read, which S3 ignores).
 */
export function byteRange(
  header: string | undefined,
  size: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < start) return undefined;
  return start >= size ? 'unsatisfiable' : { start, end };
}
