/** Writers of numbers as text into a buffer. Each returns the offset of the next byte. */

/** Most bytes of a number: `-0.0000012345678901234567`. */
export const NUMBER_ROOM = 25;

/** Nine digits fit into 32 bits. */
const BILLION = 1_000_000_000;
const ZERO = 0x30;

/** Writes a number as `String` does, without a string for counts. */
export function writeNumber(to: Buffer, value: number, at: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return writeCount(to, value, at);
  return writeAscii(to, String(value), at);
}

/** Writes a short ASCII text. */
function writeAscii(to: Buffer, text: string, start: number): number {
  for (let i = 0; i < text.length; i++) to[start + i] = text.charCodeAt(i);
  return start + text.length;
}

/** Writes a safe integer that is not negative. */
export function writeCount(to: Buffer, value: number, start: number): number {
  if (value < BILLION) return writeDigits(to, value, digitsOf(value), start);
  const high = Math.floor(value / BILLION);
  return writeDigits(to, value - high * BILLION, 9, writeCount(to, high, start));
}

/** Returns the number of digits that `writeCount` writes. */
export function digitsOf(value: number): number {
  let digits = 1;
  for (let limit = 10; value >= limit; limit *= 10) digits++;
  return digits;
}

/** Writes exactly so many digits of a number below a billion, with leading zeros. */
export function writeDigits(to: Buffer, value: number, digits: number, start: number): number {
  let rest = value;
  for (let at = start + digits - 1; at >= start; at--) {
    const higher = (rest / 10) | 0;
    to[at] = ZERO + rest - higher * 10;
    rest = higher;
  }
  return start + digits;
}
