import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { StreamBody, UploadBody } from './http/upload-body.ts';
import type { CallOptions } from './service/options.ts';

export type { StreamBody, UploadBody };

/** Source of an upload: bytes, a file, or a stream of known length. Files and streams are read again for each retry. */
export type UploadSource = Uint8Array | { readonly path: string } | StreamBody;

/** Options of uploads. */
export interface UploadOptions extends CallOptions {
  /** Called with the bytes sent so far; starts at 0 again with each retry. */
  readonly onProgress?: ((sentBytes: number, totalBytes: number) => void) | undefined;
}

/** Bytes in memory are reported in steps of this size. */
const SLICE_BYTES = 256 * 1024;

/**
 * Returns the body of a source.
 * @throws the system's error for a file that cannot be read; TypeError for anything but a regular file, bytes or a stream, and when it is empty.
 */
export async function uploadBodyOf(
  source: UploadSource,
  onProgress: UploadOptions['onProgress'],
): Promise<UploadBody> {
  const body = await plainBody(source);
  const { length } = body;
  if (length === 0) throw new TypeError('what is uploaded is empty');
  if (onProgress === undefined) return body;
  const [stream, open] = Buffer.isBuffer(body) ? [{}, () => slices(body)] : [body, body.open];
  return { ...stream, length, open: () => reported(open(), length, onProgress) };
}

async function plainBody(source: UploadSource): Promise<UploadBody> {
  if (source instanceof Uint8Array)
    return Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  // JavaScript callers may pass anything, and the engine's own TypeError would quote it.
  const given: Partial<StreamBody & { path: string }> = Object(source);
  if (typeof given.open === 'function' && typeof given.length === 'number')
    return source as StreamBody;
  const { path } = given;
  if (typeof path !== 'string')
    throw new TypeError(
      'what is uploaded must be a Uint8Array, { path } of a file, or { length, open }',
    );
  const file = await stat(path);
  if (!file.isFile()) throw new TypeError('the path of an upload must lead to a regular file');
  return { length: file.size, open: () => createReadStream(path) };
}

async function* slices(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += SLICE_BYTES)
    yield bytes.subarray(start, start + SLICE_BYTES);
}

async function* reported(
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
