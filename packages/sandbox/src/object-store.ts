/** Files of the storage. An object exists whole or not at all: it is written aside and renamed. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { createReadStream, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { storageRefusal } from './http-answer.ts';

const PART = '.part';

interface WrittenObject {
  readonly bytes: number;
  /** Hash of the object. That of S3 is not always its MD5, either, which a FIPS policy refuses. */
  readonly etag: string;
}

export class ObjectStore {
  readonly #directory: string;

  /** Creates the folders, and removes what a killed process left half-written. */
  constructor(directory: string, folders: readonly string[]) {
    this.#directory = directory;
    for (const folder of folders) {
      const path = join(directory, folder);
      mkdirSync(path, { recursive: true });
      for (const name of readdirSync(path)) if (name.endsWith(PART)) rmSync(join(path, name));
    }
  }

  /**
   * Bytes of an object; undefined when there is none.
   * @param name path below the storage, such as `uploads/1.csv`
   */
  size(name: string): number | undefined {
    return statSync(join(this.#directory, name), { throwIfNoEntry: false })?.size;
  }

  /** Stream whose errors reach those who iterate it; one that is not read to its end is harmless. */
  read(name: string): Readable {
    return createReadStream(join(this.#directory, name)).on('error', () => {});
  }

  /**
   * Writes an object, in place of an earlier one of the same name.
   * @param accept decides at the end whether the object is kept. Default: always.
   * @throws what `chunks` or `accept` throws; the earlier object then stays.
   */
  async write(
    name: string,
    chunks: AsyncIterable<Buffer | string>,
    accept: (written: WrittenObject) => boolean = () => true,
  ): Promise<WrittenObject> {
    const path = join(this.#directory, name);
    const part = `${path}.${randomUUID()}${PART}`;
    const hash = createHash('sha256');
    let bytes = 0;
    async function* measured() {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += Buffer.byteLength(chunk);
        yield chunk;
      }
    }
    try {
      await writeFile(part, measured(), { flag: 'wx' });
      const written = { bytes, etag: `"${hash.digest('hex')}"` };
      if (accept(written)) await rename(part, path);
      return written;
    } finally {
      await rm(part, { force: true });
    }
  }
}

const ALGORITHM = 'AWS4-HMAC-SHA256';

interface PresignedAddress {
  readonly method: 'PUT' | 'GET';
  /** Scheme and host at which the caller reaches the storage. */
  readonly origin: string;
  readonly path: string;
  /** Only for PUT: the one Content-Type that is accepted. */
  readonly contentType?: string | undefined;
  /** Further signed query parameters. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  readonly signedAtMs: number;
  readonly validForMs: number;
}

/**
 * Presigned addresses with the parameters of AWS Signature Version 4. The method, the path, every
 * query parameter, the host and, for uploads, the Content-Type are signed; the signature itself is
 * the sandbox's own, since no other program makes or checks one.
 */
export function presign(secret: string, address: PresignedAddress): string {
  const { method, origin, path, contentType } = address;
  const date = new Date(address.signedAtMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const type = contentType === undefined ? {} : { 'content-type': contentType };
  const headers = { ...type, host: new URL(origin).host };
  const query = new URLSearchParams({
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': `SANDBOX/${date.slice(0, 8)}/us-east-1/s3/aws4_request`,
    'X-Amz-Date': date,
    'X-Amz-Expires': String(Math.ceil(address.validForMs / 1_000)),
    'X-Amz-SignedHeaders': Object.keys(headers).join(';'),
    ...address.parameters,
  });
  const signature = signatureOf(secret, { method, path, query, headers });
  return `${origin}${path}?${query}&X-Amz-Signature=${signature}`;
}

interface PresignedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

/** @throws RefusedRequest with the answer that S3 gives (measured; packages/sandbox/README.md has the table). */
export function verifyPresigned(secret: string, request: PresignedRequest, nowMs: number): void {
  const query = new URLSearchParams(request.query);
  const signature = query.get('X-Amz-Signature');
  if (signature === null) throw storageRefusal(403, 'AccessDenied', 'Access Denied');
  if (request.headers.authorization !== undefined) {
    throw storageRefusal(400, 'InvalidArgument', 'Only one auth mechanism allowed');
  }
  query.delete('X-Amz-Signature');
  const signedAtMs = timeOf(query.get('X-Amz-Date') ?? '');
  if (!(nowMs < signedAtMs + Number(query.get('X-Amz-Expires')) * 1_000)) {
    throw storageRefusal(403, 'AccessDenied', 'Request has expired');
  }
  const signed = query.get('X-Amz-SignedHeaders')?.split(';') ?? [];
  const unsigned = Object.keys(request.headers).filter(
    (name) => name.startsWith('x-amz-') && !signed.includes(name),
  );
  if (unsigned.length > 0) {
    const message = `There were headers present in the request which were not signed: ${unsigned}`;
    throw storageRefusal(403, 'AccessDenied', message);
  }
  const headers = Object.fromEntries(signed.map((name) => [name, request.headers[name]]));
  if (signature !== signatureOf(secret, { ...request, query, headers })) {
    const message = 'The request signature we calculated does not match the one you provided.';
    throw storageRefusal(403, 'SignatureDoesNotMatch', message);
  }
}

function signatureOf(secret: string, { method, path, query, headers }: PresignedRequest): string {
  const parameters = [...query].sort(([a], [b]) => (a < b ? -1 : 1));
  const request = JSON.stringify([method, path, parameters, headers]);
  return createHmac('sha256', secret).update(request).digest('hex');
}

/** Time of a date such as 20261121T093000Z, in ms; NaN for another text. */
function timeOf(date: string): number {
  const iso = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Date.parse(iso);
}
