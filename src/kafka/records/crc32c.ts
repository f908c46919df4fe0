/**
 * CRC-32C (Castagnoli), sixteen bytes at a time ("slicing by 16"). The bytes are read as words: that takes two thirds of the time
 * of reading them one by one.
 */
import { endianness } from 'node:os';

const POLYNOMIAL = 0x82f63b78;
const WORD_BYTES = 4;
const WORDS_ARE_IN_ORDER = endianness() === 'LE';

/** T[k][b] stands at k × 256 + b: the checksum of byte b with k zero bytes behind it. */
const T = new Int32Array(16 * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  T[byte] = crc;
}
for (let at = 256; at < T.length; at++) {
  const before = T[at - 256] as number;
  T[at] = (before >>> 8) ^ (T[before & 255] as number);
}

/** Returns the checksum of bytes[from, to) as an unsigned number. */
export function crc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
  const firstWord = Math.min(to, from + (-(bytes.byteOffset + from) & (WORD_BYTES - 1)));
  let crc = byBytes(-1, bytes, from, firstWord);
  let at = firstWord;
  if (WORDS_ARE_IN_ORDER && to - at >= 4 * WORD_BYTES) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (to - at) >>> 2);
    const steps = words.length & ~3;
    for (let word = 0; word < steps; word += 4) {
      const a = crc ^ (words[word] as number);
      const b = words[word + 1] as number;
      const c = words[word + 2] as number;
      const d = words[word + 3] as number;
      crc =
        (T[3840 + (a & 255)] as number) ^
        (T[3584 + ((a >>> 8) & 255)] as number) ^
        (T[3328 + ((a >>> 16) & 255)] as number) ^
        (T[3072 + (a >>> 24)] as number) ^
        (T[2816 + (b & 255)] as number) ^
        (T[2560 + ((b >>> 8) & 255)] as number) ^
        (T[2304 + ((b >>> 16) & 255)] as number) ^
        (T[2048 + (b >>> 24)] as number) ^
        (T[1792 + (c & 255)] as number) ^
        (T[1536 + ((c >>> 8) & 255)] as number) ^
        (T[1280 + ((c >>> 16) & 255)] as number) ^
        (T[1024 + (c >>> 24)] as number) ^
        (T[768 + (d & 255)] as number) ^
        (T[512 + ((d >>> 8) & 255)] as number) ^
        (T[256 + ((d >>> 16) & 255)] as number) ^
        (T[d >>> 24] as number);
    }
    at += steps * WORD_BYTES;
  }
  crc = byBytes(crc, bytes, at, to);
  return ~crc >>> 0;
}

function byBytes(start: number, bytes: Uint8Array, from: number, to: number): number {
  let crc = start;
  for (let at = from; at < to; at++)
    crc = (crc >>> 8) ^ (T[(crc ^ (bytes[at] as number)) & 255] as number);
  return crc;
}
