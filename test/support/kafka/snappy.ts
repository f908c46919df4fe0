/** Snappy as Kafka's Java client writes it, in the framing of xerial's snappy-java. */
import { compress } from 'snappyjs';

/** 0x82 "SNAPPY" 0x00, then the version and the lowest compatible version, both 1. */
const XERIAL = Buffer.from('82534e41505059000000000100000001', 'hex');
/** Block size of snappy-java. */
const BLOCK_BYTES = 32 * 1024;

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
