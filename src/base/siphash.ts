/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): a message authentication code of 64 bits for short
 * messages. In JavaScript, because a call of Node's crypto costs twice as much for 60 bytes.
 *
 * A word of 64 bits is two integers of 32: its name with `l` is the low half, with `h` the high one.
 */
const QUOTE = 0x22;
const MAX = 0xffff_ffff;

export class SipHash {
  readonly #key: readonly [number, number, number, number];
  /** Halves of the latest code. */
  low = 0;
  high = 0;

  /** @param key 16 bytes */
  constructor(key: Buffer) {
    const word = (at: number) => key.readInt32LE(at);
    this.#key = [word(0), word(4), word(8), word(12)];
  }

  /** Sets `low` and `high` to the code of a range. @param isDoubled counts two quotes as one */
  hash(bytes: Buffer, start: number, end: number, isDoubled = false): void {
    const [k0l, k0h, k1l, k1h] = this.#key;
    let [v0l, v0h] = [k0l ^ 0x70736575, k0h ^ 0x736f6d65];
    let [v1l, v1h] = [k1l ^ 0x6e646f6d, k1h ^ 0x646f7261];
    let [v2l, v2h] = [k0l ^ 0x6e657261, k0h ^ 0x6c796765];
    let [v3l, v3h] = [k1l ^ 0x79746573, k1h ^ 0x74656462];
    let length = 0;
    let at = start;
    for (let isLast = false; !isLast; ) {
      let ml = 0;
      let mh = 0;
      let bits = 0;
      for (; bits < 64 && at < end; bits += 8) {
        const byte = bytes[at++] as number;
        if (isDoubled && byte === QUOTE) at++;
        if (bits < 32) ml |= byte << bits;
        else mh |= byte << (bits - 32);
      }
      length += bits >>> 3;
      isLast = bits < 64;
      if (isLast) mh |= length << 24;
      v3l ^= ml;
      v3h ^= mh;
      // Two rounds for a word, four more at the end.
      for (let round = isLast ? 6 : 2; round > 0; round--) {
        let sum = (v0l >>> 0) + (v1l >>> 0);
        v0l = sum | 0;
        v0h = (v0h + v1h + (sum > MAX ? 1 : 0)) | 0;
        let low = v1l;
        v1l = ((v1l << 13) | (v1h >>> 19)) ^ v0l;
        v1h = ((v1h << 13) | (low >>> 19)) ^ v0h;
        low = v0l;
        v0l = v0h;
        v0h = low;
        sum = (v2l >>> 0) + (v3l >>> 0);
        v2l = sum | 0;
        v2h = (v2h + v3h + (sum > MAX ? 1 : 0)) | 0;
        low = v3l;
        v3l = ((v3l << 16) | (v3h >>> 16)) ^ v2l;
        v3h = ((v3h << 16) | (low >>> 16)) ^ v2h;
        sum = (v0l >>> 0) + (v3l >>> 0);
        v0l = sum | 0;
        v0h = (v0h + v3h + (sum > MAX ? 1 : 0)) | 0;
        low = v3l;
        v3l = ((v3l << 21) | (v3h >>> 11)) ^ v0l;
        v3h = ((v3h << 21) | (low >>> 11)) ^ v0h;
        sum = (v2l >>> 0) + (v1l >>> 0);
        v2l = sum | 0;
        v2h = (v2h + v1h + (sum > MAX ? 1 : 0)) | 0;
        low = v1l;
        v1l = ((v1l << 17) | (v1h >>> 15)) ^ v2l;
        v1h = ((v1h << 17) | (low >>> 15)) ^ v2h;
        low = v2l;
        v2l = v2h;
        v2h = low;
        if (round === 5 || (round === 1 && !isLast)) {
          v0l ^= ml;
          v0h ^= mh;
          if (isLast) v2l ^= 0xff;
        }
      }
    }
    this.low = v0l ^ v1l ^ v2l ^ v3l;
    this.high = v0h ^ v1h ^ v2h ^ v3h;
  }
}
