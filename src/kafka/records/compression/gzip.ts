/** gzip members (RFC 1952). */
import { constants, createInflateRaw, inflateRawSync } from 'node:zlib';
import type { ZlibKind } from './zlib-stretches.ts';

/** Data that are cut off are unpacked too: missing records show when they are counted. */
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

/** Returns the start of the deflated data of a gzip member. Node's gunzip fails on bytes after the last member. */
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
