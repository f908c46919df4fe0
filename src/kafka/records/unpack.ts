/** Decompression in stretches. Only one stretch and one window of a batch are in memory, whatever its unpacked size. */

import { Lz4Stretches, SnappyStretches } from './lz-stretches.ts';
import { plainStretches, type Stretches } from './stretches.ts';
import { GZIP, ZlibStretches, ZSTD } from './zlib-stretches.ts';

export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

/** Minimum size of a stretch. Smaller stretches cost more than they save. */
const LEAST_STRETCH_BYTES = 4 * 1024;
/** Size of a stretch in pieces. Large enough that a common batch fits into one stretch and needs no stream. */
const PIECES_PER_STRETCH = 4;

/** Returns the unpacked bytes of a batch. @throws Error for an unknown codec or a wrong LZ4 header */
export function unpack(codec: number, bytes: Buffer, pieceBytes: number): Stretches {
  const stretchBytes = Math.max(LEAST_STRETCH_BYTES, PIECES_PER_STRETCH * pieceBytes);
  switch (CODECS[codec]) {
    case 'none':
      return plainStretches(bytes);
    case 'gzip':
      return new ZlibStretches(bytes, stretchBytes, GZIP);
    case 'snappy':
      return new SnappyStretches(bytes, stretchBytes);
    case 'lz4':
      return new Lz4Stretches(bytes, stretchBytes);
    case 'zstd':
      return new ZlibStretches(bytes, stretchBytes, ZSTD);
    default:
      throw new Error(`compression codec ${codec} is not supported`);
  }
}
