/**
 * CRC-32C (Castagnoli), computed for sixteen bytes at a time ("slicing by 16"). Reading them as
 * words takes two thirds of the time of reading single bytes.
 */
import { endianness } from 'node:os';

const POLYNOMIAL = 0x82f63b78;
const WORD_BYTES = 4;
const WORDS_ARE_IN_ORDER = endianness() === 'LE';

/** Flat table: T[k × 256 + b] is the checksum of byte b followed by k zero bytes. */
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

/** Returns the checksum of a word. Its tables start at `at`, which depends on the number of bytes after the word. */
const ofWord = (word: number, at: number): number =>
  (T[at + 768 + (word & 255)] as number) ^
  (T[at + 512 + ((word >>> 8) & 255)] as number) ^
  (T[at + 256 + ((word >>> 16) & 255)] as number) ^
  (T[at + (word >>> 24)] as number);

/** Returns the checksum of bytes[from, to) as an unsigned number. */
export function crc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
  const firstWord = Math.min(to, from + (-(bytes.byteOffset + from) & (WORD_BYTES - 1)));
  let crc = byBytes(-1, bytes, from, firstWord);
  let at = firstWord;
  if (WORDS_ARE_IN_ORDER && to - at >= 4 * WORD_BYTES) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (to - at) >>> 2);
    const steps = words.length & ~3;
    for (let n = 0; n < steps; n += 4)
      crc =
        ofWord(crc ^ (words[n] as number), 3072) ^
        ofWord(words[n + 1] as number, 2048) ^
        ofWord(words[n + 2] as number, 1024) ^
        ofWord(words[n + 3] as number, 0);
    at += steps * WORD_BYTES;
  }
  return ~byBytes(crc, bytes, at, to) >>> 0;
}

function byBytes(start: number, bytes: Uint8Array, from: number, to: number): number {
  let crc = start;
  for (let at = from; at < to; at++)
    crc = (crc >>> 8) ^ (T[(crc ^ (bytes[at] as number)) & 255] as number);
  return crc;
}
