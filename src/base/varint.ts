/** Variable-length integers: seven bits per byte, the lowest first; exact up to 2^53 - 1. */

/** Writes an integer that is not negative at `start`. @returns the offset of the next byte */
export function writeUnsigned(to: Buffer | number[], value: number, start: number): number {
  let at = start;
  if (value < 0x80) {
    to[at] = value;
    return at + 1;
  }
  let rest = value;
  while (rest >= 0x80) {
    to[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  to[at++] = rest;
  return at;
}

/**
 * Reads an integer that is not negative and advances the cursor.
 * @throws RangeError if the bytes end within the number, or it is too large
 */
export function readUnsigned(bytes: Uint8Array, cursor: { at: number }): number {
  let value = 0;
  let scale = 1;
  for (;;) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw new RangeError('a number is cut short');
    value += (byte & 0x7f) * scale;
    if (!Number.isSafeInteger(value)) throw new RangeError('a number is too large');
    if (byte < 0x80) return value;
    scale *= 0x80;
  }
}

/** Plain arithmetic, because a number may exceed 32 bits. */
const zigzag = (value: number): number => (value >= 0 ? value * 2 : -value * 2 - 1);

/** Writes a zigzag varint of Kafka's message format v2: an integer of at most 52 bits and a sign. */
export function writeVarint(to: Buffer, value: number, start: number): number {
  return writeUnsigned(to, zigzag(value), start);
}

/** Returns the number of bytes that `writeVarint` writes. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}
