/** gzip members (RFC 1952). */
import { constants, createInflateRaw, inflateRawSync } from 'node:zlib';
import type { ZlibKind } from './zlib-stretches.ts';

/** Whatever is there comes out, also of data that are cut off: whether records are missing is seen when they are counted. */
const CUT = { finishFlush: constants.Z_SYNC_FLUSH };

export const GZIP: ZlibKind = {
  body: gzipBody,
  whole: (part, options) => inflateRawSync(part, { ...CUT, ...options }),
  stream: (options) => createInflateRaw({ ...CUT, ...options }),
  windowBytes: () => 32 * 1024,
  /** CRC-32 and size. */
  trailerBytes: 8,
};

const FHCRC = 2;
const FEXTRA = 4;
const FNAME = 8;
const FCOMMENT = 16;

/** Where the deflated data of a gzip member begins. Node's gunzip is of no use: bytes behind the last member fail it. */
function gzipBody(bytes: Buffer, start: number): number {
  if (start + 10 > bytes.length || bytes.readUIntBE(start, 3) !== 0x1f8b08)
    throw new Error('not a gzip header');
  const flags = bytes.readUInt8(start + 3);
  let at = start + 10;
  if ((flags & FEXTRA) !== 0) at += at + 2 > bytes.length ? 2 : 2 + bytes.readUInt16LE(at);
  for (const flag of [FNAME, FCOMMENT]) {
    if ((flags & flag) === 0) continue;
    const zero = at > bytes.length ? -1 : bytes.indexOf(0, at);
    at = zero === -1 ? bytes.length + 1 : zero + 1;
  }
  if ((flags & FHCRC) !== 0) at += 2;
  if (at > bytes.length) throw new Error('a gzip header ends too early');
  return at;
}
