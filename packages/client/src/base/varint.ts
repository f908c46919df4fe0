/** Variable-length integers: seven bits per byte, the lowest first; exact up to 2^53 - 1. */

/** The low bytes, and the high ones, of any number fit into 32 bits each: division of doubles is slow. */
const LOW_BYTES = 4;
const LOW = 2 ** (7 * LOW_BYTES);

/** Writes an integer that is not negative at `start`. @returns the offset of the next byte */
export function writeUnsigned(to: Buffer, value: number, start: number): number {
  let at = start;
  let rest = value;
  if (value >= LOW) {
    rest = Math.floor(value / LOW);
    let low = value - rest * LOW;
    for (let byte = 0; byte < LOW_BYTES; byte++) {
      to[at++] = (low & 0x7f) | 0x80;
      low >>= 7;
    }
  }
  while (rest >= 0x80) {
    to[at++] = (rest & 0x7f) | 0x80;
    rest >>= 7;
  }
  to[at++] = rest;
  return at;
}

/**
 * Reads an integer that is not negative and advances the cursor.
 * @throws RangeError if the bytes end within the number, or it is too large
 */
export function readUnsigned(bytes: Uint8Array, cursor: { at: number }): number {
  const first = bytes[cursor.at] as number;
  if (first < 0x80) {
    cursor.at++;
    return first;
  }
  let value = 0;
  let scale = 1;
  for (;;) {
    const byte = bytes[cursor.at++];
    if (byte === undefined) throw new RangeError('a number is cut short');
    value += (byte & 0x7f) * scale;
    // Also NaN: the scale of a long run of continued zeros is infinite.
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
  let rest = zigzag(value);
  let size = 1;
  if (rest >= LOW) {
    rest = Math.floor(rest / LOW);
    size += LOW_BYTES;
  }
  for (; rest >= 0x80; rest >>= 7) size++;
  return size;
}
