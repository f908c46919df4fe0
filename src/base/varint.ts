/** Whole numbers in bytes of seven bits, the lowest first; exact up to 2^53 - 1. */

export function putVarint(out: number[], value: number): void {
  let rest = value;
  while (rest >= 0x80) {
    out.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  out.push(rest);
}

/** @throws RangeError when the bytes end within the number, or it is too large */
export function takeVarint(bytes: Uint8Array, cursor: { at: number }): number {
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
