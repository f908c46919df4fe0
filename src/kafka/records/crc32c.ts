/** CRC-32C (Castagnoli), eight bytes at a time ("slicing by 8"). */
const POLYNOMIAL = 0x82f63b78;

/** T[k][b] stands at k × 256 + b: the checksum of byte b with k zero bytes behind it. */
const T = new Int32Array(8 * 256);
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
  let crc = -1;
  let at = from;
  for (const last = to - 8; at <= last; at += 8) {
    crc ^=
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    crc =
      (T[1792 + (crc & 255)] as number) ^
      (T[1536 + ((crc >>> 8) & 255)] as number) ^
      (T[1280 + ((crc >>> 16) & 255)] as number) ^
      (T[1024 + (crc >>> 24)] as number) ^
      (T[768 + (bytes[at + 4] as number)] as number) ^
      (T[512 + (bytes[at + 5] as number)] as number) ^
      (T[256 + (bytes[at + 6] as number)] as number) ^
      (T[bytes[at + 7] as number] as number);
  }
  for (; at < to; at++) crc = (crc >>> 8) ^ (T[(crc ^ (bytes[at] as number)) & 255] as number);
  return ~crc >>> 0;
}
