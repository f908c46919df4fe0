/** Snappy as Kafka's clients write it: Java frames it in the way of xerial's snappy-java, others send one bare block. */
import { compress, uncompress } from 'snappyjs';

/** 0x82 "SNAPPY" 0x00, then version and lowest compatible version, both 1. */
const XERIAL = Buffer.from('82534e41505059000000000100000001', 'hex');
const XERIAL_MAGIC = XERIAL.subarray(0, 8);
/** What snappy-java puts into one block. */
const BLOCK_BYTES = 32 * 1024;

/** @throws Error when the bytes are not Snappy, or unpack to more than `maxBytes`. */
export function decompressSnappy(bytes: Buffer, maxBytes: number): Buffer {
  if (!bytes.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) return uncompress(bytes, maxBytes);
  const blocks: Buffer[] = [];
  let total = 0;
  for (let at = XERIAL.length; at < bytes.length; ) {
    if (at + 4 > bytes.length) throw new Error('a Snappy frame ends in the middle of a length');
    const size = bytes.readInt32BE(at);
    at += 4;
    if (size < 0 || at + size > bytes.length) throw new Error('a Snappy frame ends in the middle of a block');
    const block = uncompress(bytes.subarray(at, at + size), maxBytes - total);
    total += block.length;
    blocks.push(block);
    at += size;
  }
  return blocks.length === 1 ? (blocks[0] as Buffer) : Buffer.concat(blocks, total);
}

export function compressSnappy(bytes: Buffer): Buffer {
  const parts: Buffer[] = [XERIAL];
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = compress(bytes.subarray(at, at + BLOCK_BYTES));
    const size = Buffer.alloc(4);
    size.writeInt32BE(block.length);
    parts.push(size, block);
  }
  return Buffer.concat(parts);
}
