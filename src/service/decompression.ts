/** Undoes the Content-Encoding of a download: storage hands out what was stored, compressed or not, whoever asks. */
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { NetworkError } from './network-error.ts';

/** Growth is not judged below this: a small file of zeros is no attack. */
const JUDGED_FROM_BYTES = 1024 * 1024;

/** undefined when the encoding is one that this client cannot undo. */
export function decoderOf(contentEncoding: string | undefined): 'identity' | 'gzip' | undefined {
  const encoding = (contentEncoding ?? '').trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return 'identity';
  return encoding === 'gzip' || encoding === 'x-gzip' ? 'gzip' : undefined;
}

/**
 * The plain bytes of a gzip body, a chunk at a time. Leaving the loop early destroys `body`.
 * @throws NetworkError when the data is no gzip, ends too early, or grows by more than `maxRatio`; errors of `body` as they are.
 */
export async function* gunzip(body: Readable, maxRatio: number): AsyncGenerator<Buffer> {
  let plainBytes = 0;
  const gunzip = createGunzip();
  // The callback only keeps the pipeline from throwing: the loop below sees the same error.
  pipeline(body, gunzip, () => {});
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      plainBytes += chunk.length;
      if (plainBytes > JUDGED_FROM_BYTES && plainBytes > gunzip.bytesWritten * maxRatio) {
        throw new NetworkError('bad_answer', 'GREW_TOO_MUCH');
      }
      yield chunk;
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
    // zlib's word for an end before the end.
    if (code === 'Z_BUF_ERROR') throw new NetworkError('reset', code);
    throw code.startsWith('Z_') ? new NetworkError('bad_answer', code) : error;
  }
}
