/**
 * Signature of a reference (docs/adr/0034): the last member of its extras, `"s":"…"`, authenticates
 * all that stands before it with the key of the batch, which only the journal has.
 */
import { SipHash } from '../../base/siphash.ts';

/** Needs no escapes in CSV and JSON; six bits each. */
const DIGITS = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_');
/** Digits of 64 bits. */
const LENGTH = 11;
const SPACE = 0x20;

/** Forms in a cell that has no doubled quotes, and in one that has. */
const PLAIN = { before: Buffer.from('"s":"'), after: Buffer.from('"}]') };
const DOUBLED = { before: Buffer.from('""s"":""'), after: Buffer.from('""}]') };
const sizeOf = ({ before, after }: typeof PLAIN): number => before.length + LENGTH + after.length;

/** Most bytes of a signature in a cell, with all that a reference needs only for it. */
export const SIGNATURE_ROOM = sizeOf(DOUBLED) + ',0,{'.length;

/** Reason of the refusal of a row. */
export const FORGED = 'the reference is not the one that was uploaded';

export class RowSignature {
  readonly #hash: SipHash;
  readonly #expected = Buffer.alloc(SIGNATURE_ROOM);

  /** @param key of the batch, base64url */
  constructor(key: string) {
    this.#hash = new SipHash(Buffer.from(key, 'base64url'));
  }

  /** Writes the signature of a reference with doubled quotes, and its end. @returns the offset of the next byte */
  write(to: Buffer, start: number, at: number): number {
    this.#hash.hash(to, start, at, true);
    return this.#put(to, at, DOUBLED);
  }

  /** @returns the start of the signature in a cell; -1 if it is missing or wrong */
  verify(bytes: Buffer, cellStart: number, cellEnd: number, isDoubled: boolean): number {
    let start = cellStart;
    let end = cellEnd;
    while (start < end && (bytes[start] as number) <= SPACE) start++;
    while (end > start && (bytes[end - 1] as number) <= SPACE) end--;
    const form = isDoubled ? DOUBLED : PLAIN;
    const size = sizeOf(form);
    const at = end - size;
    if (at <= start) return -1;
    this.#hash.hash(bytes, start, at, isDoubled);
    this.#put(this.#expected, 0, form);
    // All bytes are compared, so that the time tells nothing.
    let differences = 0;
    for (let i = 0; i < size; i++)
      differences |= (bytes[at + i] as number) ^ (this.#expected[i] as number);
    return differences === 0 ? at : -1;
  }

  #put(to: Buffer, start: number, { before, after }: typeof PLAIN): number {
    let at = start;
    for (let i = 0; i < before.length; i++) to[at++] = before[i] as number;
    let { low, high } = this.#hash;
    for (let i = 0; i < LENGTH; i++) {
      to[at++] = DIGITS[low & 63] as number;
      low = (low >>> 6) | (high << 26);
      high >>>= 6;
    }
    for (let i = 0; i < after.length; i++) to[at++] = after[i] as number;
    return at;
  }
}
