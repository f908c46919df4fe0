/** zstd frames. Their window, the reach of matches, is memory of the decoder (RFC 8878, 3.1.1.1). */
import { constants, createZstdDecompress, zstdDecompressSync } from 'node:zlib';
import type { ZlibKind } from './zlib-stretches.ts';

/** Maximum window, zstd's own default: producers use it at level 22, also for small batches. */
const MAX_WINDOW_LOG = 27;
const LEAST_WINDOW_LOG = 20;

const MAGIC = 0xfd2fb528;
const SINGLE_SEGMENT = 0x20;
const LONGEST_HEADER_BYTES = 18;

const windowOf = (log: number) => ({ params: { [constants.ZSTD_d_windowLogMax]: log } });

export const ZSTD: ZlibKind = {
  body: (_, at) => at,
  whole: (part, options) => zstdDecompressSync(part, { ...windowOf(MAX_WINDOW_LOG), ...options }),
  // A stream may go on into the next frame, whose window must not be larger than the one that has room.
  stream: (options, frame) =>
    createZstdDecompress({ ...windowOf(logOf(windowBytes(frame))), ...options }),
  windowBytes,
  trailerBytes: 0,
};

const logOf = (bytes: number) =>
  Math.min(MAX_WINDOW_LOG, Math.max(LEAST_WINDOW_LOG, Math.ceil(Math.log2(bytes))));

/** Returns the size of the frame's window; 0 for other bytes. */
function windowBytes(frame: Buffer): number {
  if (frame.length < LONGEST_HEADER_BYTES || frame.readUInt32LE(0) !== MAGIC) return 0;
  const descriptor = frame.readUInt8(4);
  if ((descriptor & SINGLE_SEGMENT) === 0) {
    const window = frame.readUInt8(5);
    return 2 ** (10 + (window >> 3)) * (1 + (window & 7) / 8);
  }
  // The window has the size of the contents, which follows the number of a dictionary.
  const at = 5 + ([0, 1, 2, 4][descriptor & 3] as number);
  switch (descriptor >> 6) {
    case 0:
      return frame.readUInt8(at);
    case 1:
      return 256 + frame.readUInt16LE(at);
    case 2:
      return frame.readUInt32LE(at);
    default:
      return Number(frame.readBigUInt64LE(at));
  }
}
