/** Undoes the Content-Encoding of a download: storage hands out what was stored, compressed or not, whoever asks. */
import { pipeline, type Readable, type Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from 'node:zlib';
import { NetworkError } from './network-error.ts';
import { Pace, type PaceLimits } from './pace.ts';

/** Growth is not judged below this: a small file of zeros is no attack. */
const JUDGED_FROM_BYTES = 1024 * 1024;

type Decoder = Transform & { readonly bytesWritten: number };

const DECODERS: Readonly<Record<string, () => Decoder>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

export interface BodyLimits {
  /** Plain bytes in all. */
  readonly maxBytes: number;
  /** A compressed body may not grow by more than this factor (checked after the first MiB). */
  readonly maxRatio: number;
  readonly pace: PaceLimits;
}

/**
 * The plain bytes of a body, a chunk at a time. Leaving the loop early destroys `body`. Compressed bytes are undone as they are
 * asked for, so what is too much is never held.
 * @throws NetworkError: `blocked` for an encoding that is none of ours, or more than the limits allow; `bad_answer` when the data
 * is not what it says; `reset` when it ends too early; `body_timeout` when it comes too slowly. Errors of `body` as they are.
 */
export async function* plainBytes(
  body: Readable,
  contentEncoding: string | undefined,
  { maxBytes, maxRatio, pace: paceLimits }: BodyLimits,
): AsyncGenerator<Buffer> {
  const encoding = (contentEncoding ?? '').trim().toLowerCase();
  const plain = encoding === '' || encoding === 'identity';
  const create = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
  // Several encodings, one over the other, multiply their ratios: no storage does that to a file of ours.
  if (!plain && create === undefined) throw new NetworkError('blocked', 'UNKNOWN_CONTENT_ENCODING');
  const decoder = create?.();
  // The callback only keeps the pipeline from throwing: the loop below sees the same error.
  if (decoder !== undefined) pipeline(body, decoder, () => {});
  let bytes = 0;
  const pace = new Pace(
    paceLimits,
    () => decoder?.bytesWritten ?? bytes,
    (error) => body.destroy(error),
  );
  try {
    pace.wait();
    for await (const chunk of (decoder ?? body) as AsyncIterable<Buffer>) {
      pace.arrived();
      bytes += chunk.length;
      if (bytes > maxBytes) throw new NetworkError('blocked', 'RESULT_TOO_LARGE');
      if (
        decoder !== undefined &&
        bytes > JUDGED_FROM_BYTES &&
        bytes > decoder.bytesWritten * maxRatio
      ) {
        throw new NetworkError('blocked', 'GREW_TOO_MUCH');
      }
      yield chunk;
      pace.wait();
    }
  } catch (error) {
    if (decoder === undefined || error instanceof NetworkError || error === body.errored)
      throw error;
    throw decodingError(error);
  } finally {
    pace.close();
  }
}

function decodingError(error: unknown): NetworkError {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  // zlib's word for an end before the end.
  if (code === 'Z_BUF_ERROR') return new NetworkError('reset', code);
  return new NetworkError('bad_answer', /^Z_[A-Z_]+$/.test(code) ? code : 'BAD_COMPRESSION');
}
