/** Decompression in stretches: whatever a batch unpacks to, no more than a stretch and a window of it is in memory at once. */
import { constants, createInflateRaw, createZstdDecompress, inflateRawSync, zstdDecompressSync } from 'node:zlib';
import { Lz4Stretches } from './lz4-stretches.ts';
import { SnappyStretches } from './snappy-stretches.ts';
import type { Stretches } from './stretches.ts';
import { gzipBody, ZlibStretches } from './zlib-stretches.ts';
import { isWide, MAX_WINDOW_LOG, WINDOW_LOG } from './zstd-window.ts';

export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** Bytes as they are. */
class Plain implements Stretches {
  #bytes: Buffer | undefined;
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }
  next(): Buffer | undefined {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes;
  }
  close(): void {
    this.#bytes = undefined;
  }
}

/** Smaller stretches cost more than they save. */
const LEAST_STRETCH_BYTES = 4 * 1024;

const zstdWindow = (log: number) => ({ params: { [constants.ZSTD_d_windowLogMax]: log } });
/** Whatever is there comes out, also of data that are cut off: whether records are missing is seen when they are counted. */
const GZIP = { finishFlush: constants.Z_SYNC_FLUSH };

/** @throws Error for a codec that is not known, or bytes that do not begin as they should. */
export function unpack(codec: number, bytes: Buffer, pieceBytes: number): Stretches {
  const stretchBytes = Math.max(LEAST_STRETCH_BYTES, pieceBytes);
  switch (CODECS[codec]) {
    case 'none':
      return new Plain(bytes);
    case 'gzip':
      return new ZlibStretches(bytes, stretchBytes, {
        body: gzipBody,
        whole: (part, options) => inflateRawSync(part, { ...GZIP, ...options }),
        stream: (options) => createInflateRaw({ ...GZIP, ...options }),
        freeBytes: () => Number.POSITIVE_INFINITY,
        /** CRC-32 and size. */
        trailerBytes: 8,
      });
    case 'snappy':
      return new SnappyStretches(bytes, stretchBytes);
    case 'lz4':
      return new Lz4Stretches(bytes, stretchBytes);
    case 'zstd':
      return new ZlibStretches(bytes, stretchBytes, {
        body: (_, at) => at,
        whole: (part, options) => zstdDecompressSync(part, { ...zstdWindow(MAX_WINDOW_LOG), ...options }),
        stream: (options, frame) =>
          createZstdDecompress({ ...zstdWindow(isWide(frame) ? MAX_WINDOW_LOG : WINDOW_LOG), ...options }),
        // Of a window only that is memory in use which was unpacked.
        freeBytes: (frame) => (isWide(frame) ? 2 ** WINDOW_LOG : Number.POSITIVE_INFINITY),
        trailerBytes: 0,
      });
    default:
      throw new Error(`compression codec ${codec} is not known`);
  }
}
