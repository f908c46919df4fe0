/** Decompression of bodies. Storages return files as they were stored, and some gateways compress every response. */
import { pipeline, type Readable, type Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { NetworkError } from './network-error.ts';

/** Size below which growth is not checked, because a small file of zeros is not an attack. */
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
 * Values of Content-Encoding that change no bytes. A storage joins the chunks of a signed upload,
 * but S3-compatible ones may keep `aws-chunked` in the header. A charset is a mistake there, but
 * changes no bytes either.
 */
const PLAIN = new Set(['', 'identity', 'aws-chunked', 'utf-8']);

/** Returns the content codings of a body in lower case. */
function encodingsOf(header = ''): string[] {
  return header
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => !PLAIN.has(one));
}

interface BodyLimits {
  /** Maximum number of decompressed bytes. */
  readonly maxBytes: number;
  /** Maximum growth factor of a compressed body, checked after the first MiB. */
  readonly maxRatio: number;
  /**
   * Base of the total time for which the reader may wait for the body. The time for the received
   * bytes at `bytesPerSecond` is added. Each byte restarts the silence timeout, so without this
   * limit a slow drip would never end.
   */
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/**
 * Yields the decompressed bytes of a body in chunks. Leaving the loop early destroys `body`.
 * Decompression happens on demand, so bytes above the limit take no memory.
 * @throws NetworkError: `blocked` for an unknown encoding or a body above the limits; `bad_answer`
 * for invalid data; `reset` if the body ends early; `body_timeout` if it is too slow. Errors of
 * `body` are thrown unchanged
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
  // Nested encodings are refused: their growth factors multiply, and no storage uses them.
  if (more.length > 0 || (encoding !== undefined && create === undefined))
    throw new NetworkError('blocked', 'UNKNOWN_CONTENT_ENCODING');
  const decompressor = create?.();
  // The empty callback prevents the pipeline from throwing. The loop below receives the same error.
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
    // An error of zlib, brotli or zstd also ends a body that is still arriving.
    const isOfBody = error === body.errored && !/^(?:Z_|ERR__|ZSTD_)/.test(code);
    if (decompressor === undefined || error instanceof NetworkError || isOfBody) throw error;
    // zlib's code for data that ends early.
    if (code === 'Z_BUF_ERROR') throw new NetworkError('reset', code);
    throw new NetworkError('bad_answer', /^Z_[A-Z_]+$/.test(code) ? code : 'BAD_COMPRESSION');
  } finally {
    clearInterval(timer);
  }
}
