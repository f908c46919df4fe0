/**
 * LZ4 frames (github.com/lz4/lz4, doc/lz4_Frame_format.md and lz4_Block_format.md), which Node does not bring.
 * Checksums are not verified: brokers check the CRC of a batch when it arrives.
 */
const MAGIC = 0x184d2204;
const VERSION_MASK = 0xc0;
const VERSION = 0x40;
const BLOCK_CHECKSUM = 0x10;
const CONTENT_SIZE = 0x08;
const DICTIONARY = 0x01;
const STORED = 0x80000000;
const MIN_MATCH = 4;
/** The format wants the last 5 bytes as literals and no match to begin in the last 12. */
const LAST_LITERALS = 5;
const MATCH_LIMIT = 12;

/** Magic, "version 1, independent blocks", 64 KiB blocks, and the checksum of those two bytes: what Java's client writes. */
const HEADER = Buffer.from('04224d18604082', 'hex');
const BLOCK_BYTES = 64 * 1024;

/** @throws Error when the bytes are not an LZ4 frame, or unpack to more than `maxBytes`. */
export function decompressLz4(bytes: Buffer, maxBytes: number): Buffer {
  if (bytes.length < HEADER.length || bytes.readUInt32LE(0) !== MAGIC) throw new Error('not an LZ4 frame');
  const flags = bytes.readUInt8(4);
  const blockCode = (bytes.readUInt8(5) >> 4) & 7;
  if ((flags & VERSION_MASK) !== VERSION || (flags & DICTIONARY) !== 0 || blockCode < 4) {
    throw new Error('an LZ4 frame of a kind that Kafka does not use');
  }
  const blockBytes = 1 << (8 + 2 * blockCode);
  let at = 7 + ((flags & CONTENT_SIZE) === 0 ? 0 : 8);
  let out = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(BLOCK_BYTES, bytes.length * 3)));
  let end = 0;
  for (;;) {
    if (at + 4 > bytes.length) throw new Error('an LZ4 frame ends without its end mark');
    const header = bytes.readUInt32LE(at);
    at += 4;
    if (header === 0) return out.subarray(0, end);
    const stored = header >= STORED;
    const size = stored ? header - STORED : header;
    if (size > blockBytes || at + size > bytes.length) throw new Error('an LZ4 block is longer than its frame allows');
    const limit = Math.min(end + blockBytes, maxBytes);
    if (limit > out.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(limit, out.length * 2)));
      out.copy(larger, 0, 0, end);
      out = larger;
    }
    if (stored) {
      if (end + size > limit) throw new Error(`an LZ4 frame unpacks to more than ${maxBytes} bytes`);
      end += bytes.copy(out, end, at, at + size);
    } else {
      end = decompressBlock(bytes, at, at + size, out, end, limit);
    }
    at += size + ((flags & BLOCK_CHECKSUM) === 0 ? 0 : 4);
  }
}

/** Unpacks src[from, to) to dst[at…limit). Matches may reach back into earlier blocks. @returns the new end of dst. */
function decompressBlock(src: Buffer, from: number, to: number, dst: Buffer, at: number, limit: number): number {
  const bad = () => new Error('an LZ4 block is damaged, or unpacks to more than allowed');
  let read = from;
  let write = at;
  const lengthFrom = (start: number): number => {
    let length = start;
    if (start !== 15) return length;
    for (;;) {
      if (read >= to) throw bad();
      const more = src[read++] as number;
      length += more;
      if (more !== 255) return length;
    }
  };
  while (read < to) {
    const token = src[read++] as number;
    const literals = lengthFrom(token >> 4);
    if (read + literals > to || write + literals > limit) throw bad();
    src.copy(dst, write, read, read + literals);
    read += literals;
    write += literals;
    if (read === to) return write;
    if (read + 2 > to) throw bad();
    const distance = (src[read] as number) | ((src[read + 1] as number) << 8);
    read += 2;
    const match = lengthFrom(token & 15) + MIN_MATCH;
    if (distance === 0 || distance > write || write + match > limit) throw bad();
    if (distance >= match) dst.copyWithin(write, write - distance, write - distance + match);
    // An overlapping match repeats what it has just written.
    else for (let i = write; i < write + match; i++) dst[i] = dst[i - distance] as number;
    write += match;
  }
  return write;
}

export function compressLz4(bytes: Buffer): Buffer {
  const parts: Buffer[] = [HEADER];
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    const packed = compressBlock(block);
    const body = packed ?? block;
    const size = Buffer.alloc(4);
    size.writeUInt32LE(packed === undefined ? STORED + body.length : body.length);
    parts.push(size, body);
  }
  parts.push(Buffer.alloc(4));
  return Buffer.concat(parts);
}

/** Greedy matching over a table of four-byte sequences. @returns undefined when packing saves nothing. */
function compressBlock(src: Buffer): Buffer | undefined {
  const dst = Buffer.allocUnsafe(src.length);
  const table = new Int32Array(4096).fill(-1);
  let write = 0;
  let anchor = 0;
  const writeLength = (length: number): void => {
    let rest = length - 15;
    for (; rest >= 255; rest -= 255) dst[write++] = 255;
    dst[write++] = rest;
  };
  /** Literals from the anchor, and then a match of `match` bytes (0: none, the end). False when dst is full. */
  const emit = (literals: number, distance: number, match: number): boolean => {
    if (write + literals + literals / 255 + match / 255 + 10 > dst.length) return false;
    const matchCode = match === 0 ? 0 : match - MIN_MATCH;
    dst[write++] = (Math.min(literals, 15) << 4) | Math.min(matchCode, 15);
    if (literals >= 15) writeLength(literals);
    write += src.copy(dst, write, anchor, anchor + literals);
    if (match === 0) return true;
    dst[write++] = distance & 255;
    dst[write++] = distance >> 8;
    if (matchCode >= 15) writeLength(matchCode);
    return true;
  };
  for (let at = 0; at < src.length - MATCH_LIMIT; ) {
    const sequence = src.readUInt32LE(at);
    const slot = Math.imul(sequence, 0x9e3779b1) >>> 20;
    const candidate = table[slot] as number;
    table[slot] = at;
    if (candidate < 0 || src.readUInt32LE(candidate) !== sequence) {
      at++;
      continue;
    }
    let match = MIN_MATCH;
    while (at + match < src.length - LAST_LITERALS && src[candidate + match] === src[at + match]) match++;
    if (!emit(at - anchor, at - candidate, match)) return undefined;
    at += match;
    anchor = at;
  }
  return emit(src.length - anchor, 0, 0) ? dst.subarray(0, write) : undefined;
}
