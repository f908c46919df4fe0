/** Zigzag varints as Kafka's message format v2 writes them: small numbers of either sign stay short. */

/** Plain arithmetic, because a number may pass 32 bits. */
const zigzag = (value: number): number => (value >= 0 ? value * 2 : -value * 2 - 1);

/** Returns how many bytes `writeVarint` takes for an integer of at most 52 bits and a sign. */
export function varintSize(value: number): number {
  let rest = zigzag(value);
  let size = 1;
  while (rest >= 0x80) {
    rest = Math.floor(rest / 0x80);
    size++;
  }
  return size;
}

/** Writes an integer of at most 52 bits and a sign at `start`. @returns where the next byte goes */
export function writeVarint(to: Buffer, value: number, start: number): number {
  let rest = zigzag(value);
  let at = start;
  while (rest >= 0x80) {
    to[at++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  to[at++] = rest;
  return at;
}
