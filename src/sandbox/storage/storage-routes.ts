/** The storage behind presigned addresses. It answers as S3 was measured to; docs/sandbox.md has the table. */
import { CONTENT_TYPES } from '../../service/contract.ts';
import type { Batch, BatchStore } from '../batches/batch-store.ts';
import type { SandboxClock } from '../clock.ts';
import type { Fault } from '../faults/schema.ts';
import { type Answer, type Plan, Refusal, storageError } from '../http/answer.ts';
import type { Exchange, RouteGroup } from '../http/exchange.ts';
import { type Surroundings, throttled } from '../http/send.ts';
import { WAITING } from '../work/work-store.ts';
import { byteRange } from './byte-range.ts';
import { etagOf, type ObjectStore } from './object-store.ts';
import { type Folder, RESULTS, STORAGE_PREFIX } from './paths.ts';
import { verifyPresigned } from './presign.ts';

/** A folder that callers upload to. */
export interface Inbox {
  readonly folder: Folder;
  readonly operation: 'upload' | 'upload_import';
  readonly objects: ObjectStore;
  /** undefined for an id that was never given out. */
  find(id: string): Destination | undefined;
  /** Called once an upload is in the storage. */
  uploaded(id: string, lateByMs: number): void;
}

/** What an upload is for. */
export interface Destination {
  readonly id: string;
  readonly status: string;
  /** Content type of a batch. */
  readonly type?: string;
}

export interface StorageRouteParts extends Surroundings {
  readonly inboxes: readonly Inbox[];
  readonly store: BatchStore;
  readonly results: ObjectStore;
  readonly secret: string;
  readonly clock: SandboxClock;
  readonly maxUploadBytes: number;
}

export function storageRoutes(parts: StorageRouteParts): RouteGroup {
  return {
    prefix: STORAGE_PREFIX,
    async handle(exchange) {
      verifyPresigned(
        parts.secret,
        { ...exchange, headers: exchange.request.headers },
        parts.clock.now(),
      );
      for (const inbox of parts.inboxes) {
        const destination = find(inbox.folder, exchange.path, (id) => inbox.find(id));
        if (destination !== undefined) return uploadPlan(destination, inbox, exchange, parts);
      }
      const batch = find(RESULTS, exchange.path, (id) => parts.store.get(id));
      if (batch === undefined) throw noSuchKey();
      return downloadPlan(batch, exchange, parts);
    },
  };
}

function find<Item>(
  folder: Folder,
  path: string,
  get: (id: string) => Item | undefined,
): Item | undefined {
  const id = folder.idOf(path);
  return id === undefined ? undefined : get(id);
}

function noSuchKey(): Refusal {
  return new Refusal(storageError(404, 'NoSuchKey', 'The specified key does not exist.'));
}

function uploadPlan(
  destination: Destination,
  inbox: Inbox,
  { request }: Exchange,
  parts: StorageRouteParts,
): Plan {
  const declared = request.headers['content-length'];
  if (declared === undefined) {
    throw new Refusal(
      storageError(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.'),
    );
  }
  if (Number(declared) > parts.maxUploadBytes) {
    throw new Refusal(
      storageError(400, 'EntityTooLarge', 'Your proposed upload exceeds the maximum allowed size'),
    );
  }
  const expectedMd5 = md5Header(request.headers['content-md5']);
  return {
    operation: inbox.operation,
    type: destination.type,
    async run(fault) {
      const etag = await receive(
        destination.id,
        request,
        { inbox, expectedMd5, bytes: Number(declared) },
        fault,
        parts,
      );
      return { status: 200, headers: { etag }, body: '' };
    },
  };
}

function md5Header(header: string | string[] | undefined): Buffer | undefined {
  if (header === undefined) return undefined;
  const md5 = Buffer.from(String(header), 'base64');
  if (md5.length !== 16)
    throw new Refusal(
      storageError(400, 'InvalidDigest', 'The Content-MD5 you specified is not valid.'),
    );
  return md5;
}

interface Expected {
  readonly inbox: Inbox;
  readonly expectedMd5: Buffer | undefined;
  readonly bytes: number;
}

/** Writes the body and makes it the object; a body that ends early leaves nothing. Returns the ETag. */
async function receive(
  id: string,
  body: AsyncIterable<Buffer>,
  { inbox, expectedMd5, bytes }: Expected,
  fault: Fault | undefined,
  around: Surroundings,
): Promise<string> {
  const draft = await inbox.objects.draft(inbox.folder.fileName(id));
  let isKept = false;
  try {
    const bytesPerSecond = fault?.action === 'slow' ? fault.bytesPerSecond : undefined;
    for await (const chunk of throttled(body, bytesPerSecond, around)) await draft.write(chunk);
    if (draft.bytes !== bytes) throw new Error('the upload was cut');
    const md5 = draft.md5();
    if (expectedMd5 !== undefined && !md5.equals(expectedMd5)) {
      const message = 'The Content-MD5 you specified did not match what we received.';
      throw new Refusal(storageError(400, 'BadDigest', message));
    }
    // Once the work has begun, it is the first upload that counts, also for work taken up again after a restart.
    if (inbox.find(id)?.status === WAITING) {
      isKept = true;
      await draft.keep();
      inbox.uploaded(id, fault?.action === 'late_event' ? fault.by : 0);
    }
    return etagOf(md5);
  } finally {
    if (!isKept) await draft.discard();
  }
}

function downloadPlan(batch: Batch, { request }: Exchange, parts: StorageRouteParts): Plan {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, range } = request.headers;
  const etag = batch.etag ?? '';
  if (!parts.results.has(RESULTS.fileName(batch.id))) throw noSuchKey();
  if (ifMatch !== undefined && !matches(ifMatch, etag)) {
    const message = 'At least one of the pre-conditions you specified did not hold';
    throw new Refusal(storageError(412, 'PreconditionFailed', message));
  }
  if (ifNoneMatch !== undefined && matches(ifNoneMatch, etag))
    throw new Refusal({ status: 304, headers: { etag }, body: '' });
  return {
    operation: 'download',
    type: batch.type,
    run: () => download(batch, etag, range, parts.results),
  };
}

function matches(condition: string, etag: string): boolean {
  return condition.split(',').some((part) => part.trim() === '*' || part.trim() === etag);
}

async function download(
  { id }: Batch,
  etag: string,
  rangeHeader: string | undefined,
  results: ObjectStore,
): Promise<Answer> {
  const name = RESULTS.fileName(id);
  const object = await results.info(name);
  if (object === undefined) throw noSuchKey();
  const { bytes, modifiedMs } = object;
  const range = byteRange(rangeHeader, bytes);
  if (range === 'unsatisfiable') {
    const headers = { 'content-range': `bytes */${bytes}` };
    throw new Refusal(
      storageError(416, 'InvalidRange', 'The requested range is not satisfiable', headers),
    );
  }
  const headers = {
    'content-type': CONTENT_TYPES.csv,
    etag,
    'last-modified': new Date(modifiedMs).toUTCString(),
    'accept-ranges': 'bytes',
  };
  if (range === undefined) {
    return {
      status: 200,
      headers: { ...headers, 'content-length': String(bytes) },
      body: results.read(name),
    };
  }
  const part = {
    'content-length': String(range.end - range.start + 1),
    'content-range': `bytes ${range.start}-${range.end}/${bytes}`,
  };
  return { status: 206, headers: { ...headers, ...part }, body: results.read(name, range) };
}
