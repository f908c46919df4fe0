/**
 * zstd frames. Their window, how far matches may reach back, is memory that the decoder takes (RFC 8878, 3.1.1.1): frames with a wide
 * one are unpacked one at a time.
 */
import { constants, createZstdDecompress, zstdDecompressSync } from 'node:zlib';
import { takeWideTurn } from './wide-turn.ts';
import type { ZlibKind } from './zlib-stretches.ts';

/** Windows up to this size may be filled side by side: 32 MiB. */
const WINDOW_LOG = 25;
/** The largest window that is accepted, zstd's own default: producers make it at level 22, also for small batches. */
const MAX_WINDOW_LOG = 27;

const MAGIC = 0xfd2fb528;
const SINGLE_SEGMENT = 0x20;

const windowOf = (log: number) => ({ params: { [constants.ZSTD_d_windowLogMax]: log } });

export const ZSTD: ZlibKind = {
  body: (_, at) => at,
  whole: (part, options) => zstdDecompressSync(part, { ...windowOf(MAX_WINDOW_LOG), ...options }),
  stream: (options, frame) => createZstdDecompress({ ...windowOf(isWide(frame) ? MAX_WINDOW_LOG : WINDOW_LOG), ...options }),
  turns: {
    // Of a window only that is memory in use which was unpacked.
    freeBytes: (frame) => (isWide(frame) ? 2 ** WINDOW_LOG : Number.POSITIVE_INFINITY),
    take: takeWideTurn,
  },
  trailerBytes: 0,
};

/** Whether the frame has a window above 2^25 bytes. What is no frame has none. */
function isWide(frame: Buffer): boolean {
  if (frame.length < 18 || frame.readUInt32LE(0) !== MAGIC) return false;
  const descriptor = frame.readUInt8(4);
  if ((descriptor & SINGLE_SEGMENT) === 0) {
    const window = frame.readUInt8(5);
    return 10 + (window >> 3) + (window & 7) / 8 > WINDOW_LOG;
  }
  // The window is as large as the contents, whose size follows the number of a dictionary.
  const at = 5 + ([0, 1, 2, 4][descriptor & 3] as number);
  const sizeBytes = [1, 2, 4, 8][descriptor >> 6] as number;
  return sizeBytes === 8 || (sizeBytes === 4 && frame.readUInt32LE(at) > 2 ** WINDOW_LOG);
}
