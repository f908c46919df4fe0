/** LZ4 frames as Java's client writes them (github.com/lz4/lz4, doc/lz4_Frame_format.md and lz4_Block_format.md). */
const STORED = 0x80000000;
const MIN_MATCH = 4;
/** The last 5 bytes must be literals, and no match may begin in the last 12. */
const LAST_LITERALS = 5;
const MATCH_LIMIT = 12;

/** Magic number, flags (version 1, independent blocks), block size (64 KiB) and checksum, as Java's client writes them. */
const HEADER = Buffer.from('04224d18604082', 'hex');
const BLOCK_BYTES = 64 * 1024;

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

/** Greedy matching with a table of four-byte sequences. @returns undefined if compression does not reduce the size */
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
  /**
   * Writes the literals from the anchor, and a match of `match` bytes (0 at the end of the block). Returns false if
   * dst is full.
   */
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
    while (at + match < src.length - LAST_LITERALS && src[candidate + match] === src[at + match])
      match++;
    if (!emit(at - anchor, at - candidate, match)) return undefined;
    at += match;
    anchor = at;
  }
  return emit(src.length - anchor, 0, 0) ? dst.subarray(0, write) : undefined;
}
