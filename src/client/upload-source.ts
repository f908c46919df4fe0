/** What can be uploaded: bytes, a file, or a stream of known length. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { StreamBody, UploadBody } from '../http/upload-body.ts';
import type { CallOptions } from './options.ts';

export type { StreamBody, UploadBody };

/** Files and streams are read as they are sent, and begun anew when the upload is tried again. */
export type UploadSource = Uint8Array | { readonly path: string } | StreamBody;

export interface UploadOptions extends CallOptions {
  /** What the storage needs besides, such as `x-ms-blob-type: BlockBlob` (Azure). */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** Bytes handed to the network so far; begins at 0 again when the upload is tried again. */
  readonly onProgress?: (sentBytes: number, totalBytes: number) => void;
}

/** Bytes between two reports of progress, for a source that is in memory. */
const SLICE_BYTES = 256 * 1024;

/** @throws the system's error when a file cannot be read, TypeError when it is no file, empty, or no source at all. */
export async function uploadBodyOf(
  source: UploadSource,
  onProgress: UploadOptions['onProgress'],
): Promise<UploadBody> {
  const body = await plainBody(source);
  if (body.length === 0) throw new TypeError('what is uploaded is empty');
  if (onProgress === undefined) return body;
  const { length } = body;
  const open = Buffer.isBuffer(body) ? () => slices(body) : body.open;
  return {
    ...(Buffer.isBuffer(body) ? {} : body),
    length,
    open: () => counted(open(), length, onProgress),
  };
}

async function plainBody(source: UploadSource): Promise<UploadBody> {
  if (source instanceof Uint8Array)
    return Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  // In JavaScript it may be anything, and the language's own complaint would quote it.
  const given: Partial<StreamBody & { path: string }> =
    typeof source === 'object' && source !== null ? source : {};
  if (typeof given.open === 'function' && typeof given.length === 'number')
    return source as StreamBody;
  const { path } = given;
  if (typeof path !== 'string')
    throw new TypeError(
      'what is uploaded must be a Uint8Array, { path } of a file, or { length, open }',
    );
  const file = await stat(path);
  if (!file.isFile()) throw new TypeError('the path of an upload must be that of a regular file');
  return { length: file.size, open: () => createReadStream(path) };
}

async function* slices(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += SLICE_BYTES)
    yield bytes.subarray(start, start + SLICE_BYTES);
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  total: number,
  report: (sent: number, total: number) => void,
): AsyncGenerator<Uint8Array> {
  let sent = 0;
  report(0, total);
  for await (const chunk of chunks) {
    yield chunk;
    sent += chunk.length;
    report(sent, total);
  }
}
