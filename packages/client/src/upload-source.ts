import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { StreamBody, UploadBody } from './http/upload-body.ts';

export type { StreamBody, UploadBody };

/** Source of an upload: bytes, a file, or a stream of known length. Files and streams are read again for each retry. */
export type UploadSource = Uint8Array | { readonly path: string } | StreamBody;

/** Returns the body of a source. @throws TypeError for an empty or unsupported source, or the system's error */
export async function uploadBodyOf(source: UploadSource): Promise<UploadBody> {
  const body = await bodyOf(source);
  if (body.length === 0) throw new TypeError('the upload is empty');
  return body;
}

async function bodyOf(source: UploadSource): Promise<UploadBody> {
  if (source instanceof Uint8Array)
    return Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  // JavaScript callers may pass any value. The TypeError that the engine would throw quotes the
  // value.
  const given: Partial<StreamBody & { path: string }> = Object(source);
  if (typeof given.open === 'function' && typeof given.length === 'number')
    return source as StreamBody;
  const { path } = given;
  if (typeof path !== 'string')
    throw new TypeError('the upload must be a Uint8Array, { path } of a file, or { length, open }');
  const file = await stat(path);
  if (!file.isFile()) throw new TypeError('the path of an upload must lead to a regular file');
  return { length: file.size, open: () => createReadStream(path) };
}
