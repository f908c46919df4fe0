/** Plain bytes of a body: storages return files as they were stored, and some gateways compress every answer. */
import { pipeline, type Readable, type Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { NetworkError } from './network-error.ts';

/** Growth is not judged below this size: a small file of zeros is no attack. */
const JUDGED_FROM_BYTES = 1024 * 1024;

type Decompressor = Transform & { readonly bytesWritten: number };

const DECOMPRESSORS: Readonly<Record<string, () => Decompressor>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/**
 * Values of Content-Encoding that change no byte. An upload in signed chunks is stored without them,
 * and S3-compatible storages keep the name; a charset there is a mistake, and changes no byte either.
 */
const PLAIN = new Set(['', 'identity', 'aws-chunked', 'utf-8']);

/** Returns the codings of a body in lower case. */
function encodingsOf(header = ''): string[] {
  return header
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => !PLAIN.has(one));
}

interface BodyLimits {
  /** Plain bytes in all. */
  readonly maxBytes: number;
  /** A compressed body may not grow by more than this factor (checked after the first MiB). */
  readonly maxRatio: number;
  /**
   * The body may keep its reader waiting for this time in all, and for the bytes that came at this
   * speed: a single byte restarts the silence timeout, so a body that drips would never end.
   */
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/**
 * Yields the plain bytes of a body, a chunk at a time. Leaving the loop early destroys `body`.
 * Compressed bytes are decompressed on demand, so that excess bytes never use memory.
 * @throws NetworkError: `blocked` for an unknown encoding, or more than the limits allow;
 * `bad_answer` for invalid data; `reset` for an early end; `body_timeout` when it comes too slowly.
 * Errors of `body` as they are.
 */
export async function* plainBytes(
  body: Readable,
  contentEncoding: string | undefined,
  { maxBytes, maxRatio, graceMs, bytesPerSecond }: BodyLimits,
): AsyncGenerator<Buffer> {
  const [encoding, ...more] = encodingsOf(contentEncoding);
  const create =
    encoding !== undefined && Object.hasOwn(DECOMPRESSORS, encoding)
      ? DECOMPRESSORS[encoding]
      : undefined;
  // Several encodings, one over the other, multiply their ratios: no storage does that.
  if (more.length > 0 || (encoding !== undefined && create === undefined))
    throw new NetworkError('blocked', 'UNKNOWN_CONTENT_ENCODING');
  const decompressor = create?.();
  // The callback only keeps the pipeline from throwing: the loop below sees the same error.
  if (decompressor !== undefined) pipeline(body, decompressor, () => {});

  let bytes = 0;
  let waitedMs = 0;
  let waitingSinceMs: number | undefined = performance.now();
  const timer = setInterval(() => {
    if (waitingSinceMs === undefined) return;
    const totalMs = waitedMs + performance.now() - waitingSinceMs;
    const received = decompressor?.bytesWritten ?? bytes;
    if (totalMs <= graceMs + (received / bytesPerSecond) * 1000) return;
    body.destroy(new NetworkError('body_timeout', 'BODY_TOO_SLOW'));
  }, graceMs);
  try {
    for await (const chunk of (decompressor ?? body) as AsyncIterable<Buffer>) {
      waitedMs += performance.now() - (waitingSinceMs ?? 0);
      waitingSinceMs = undefined;
      bytes += chunk.length;
      if (bytes > maxBytes) throw new NetworkError('blocked', 'RESULT_TOO_LARGE');
      const mostBytes = Math.max(
        JUDGED_FROM_BYTES,
        (decompressor?.bytesWritten ?? bytes) * maxRatio,
      );
      if (bytes > mostBytes) throw new NetworkError('blocked', 'GREW_TOO_MUCH');
      yield chunk;
      waitingSinceMs = performance.now();
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    // An error of zlib, brotli or zstd also ends a body that was still coming.
    const isOfBody = error === body.errored && !/^(?:Z_|ERR__|ZSTD_)/.test(code);
    if (decompressor === undefined || error instanceof NetworkError || isOfBody) throw error;
    // The code of zlib for an early end.
    if (code === 'Z_BUF_ERROR') throw new NetworkError('reset', code);
    throw new NetworkError('bad_answer', /^Z_[A-Z_]+$/.test(code) ? code : 'BAD_COMPRESSION');
  } finally {
    clearInterval(timer);
  }
}
