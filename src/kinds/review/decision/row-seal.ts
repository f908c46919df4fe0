/**
 * Seal of the connector's column (docs/adr/0034): the body of an event part in base64url, after a
 * code that authenticates it with the key of the batch, which only the journal has.
 *
 *     a <16 characters: the first 96 bits of an HMAC-SHA-256> <body>
 *
 * Letters, digits, `-` and `_` look the same in every dialect of CSV and in every encoding. The
 * letter in front is the version of the layout; a cell that began with `-` would be a formula.
 */
import { hash } from 'node:crypto';
import { BODY_START, type EventPart } from './event-part.ts';

const VERSION = 0x61;
const CODE_LENGTH = 16;
const HEAD_LENGTH = 1 + CODE_LENGTH;
/** Sizes of HMAC-SHA-256, bytes. */
const BLOCK = BODY_START;
const DIGEST = 32;
/** Size of nearly all bodies with the key in front of them, bytes. */
const USUAL_SIZE = BLOCK + 1024;
const SPACE = 0x20;

/** Views of one buffer by their usual sizes: a new one for each row would be garbage. */
let viewed: Buffer | undefined;
let views: (Buffer | undefined)[] = [];

/** Reason of the refusal of a row. */
export const FORGED = 'the reference is not the one that was uploaded';

export class RowSeal {
  /** The two padded keys, the second with room for what is hashed with it. */
  readonly #inner = Buffer.alloc(BLOCK, 0x36);
  readonly #outer = Buffer.alloc(BLOCK + DIGEST, 0x5c);

  /** @param key of the batch, base64url, at most 64 bytes */
  constructor(key: string) {
    for (const [i, byte] of Buffer.from(key, 'base64url').entries()) {
      this.#inner[i] = 0x36 ^ byte;
      this.#outer[i] = 0x5c ^ byte;
    }
  }

  /** Returns the bytes that `write` writes. */
  static size({ end }: EventPart): number {
    return HEAD_LENGTH + Math.ceil(((end - BODY_START) * 4) / 3);
  }

  /** Writes the cell of an encoded part. @returns the offset of the next byte */
  write(part: EventPart, to: Buffer, start: number): number {
    const code = this.#codeOf(part);
    let at = start;
    to[at++] = VERSION;
    for (let i = 0; i < CODE_LENGTH; i++) to[at++] = code.charCodeAt(i);
    return at + to.write(part.bytes.toString('base64url', BODY_START, part.end), at, 'latin1');
  }

  /** Reads bytes[start, end) into a part. @returns why it is not authentic, without showing it */
  open(bytes: Buffer, cellStart: number, cellEnd: number, part: EventPart): string | undefined {
    let start = cellStart;
    let end = cellEnd;
    while (start < end && (bytes[start] as number) <= SPACE) start++;
    while (end > start && (bytes[end - 1] as number) <= SPACE) end--;
    const bodyStart = start + HEAD_LENGTH;
    if (end <= bodyStart || bytes[start] !== VERSION)
      return end === start ? 'the reference is empty' : 'the reference is not of this connector';
    const to = part.reserve(end - bodyStart);
    const body = bytes.toString('latin1', bodyStart, end);
    part.end = BODY_START + to.write(body, BODY_START, 'base64url');
    const code = this.#codeOf(part);
    // All characters are compared, so that the time tells nothing.
    let differences = 0;
    for (let i = 0; i < CODE_LENGTH; i++)
      differences |= (bytes[start + 1 + i] as number) ^ code.charCodeAt(i);
    if (differences !== 0) return FORGED;
    part.read();
    return undefined;
  }

  /**
   * Returns the HMAC of the body, of which the first `CODE_LENGTH` characters are the code. Two
   * one-shot hashes over reused memory take 40 % of the time of `createHmac`.
   */
  #codeOf({ bytes, end }: EventPart): string {
    this.#inner.copy(bytes);
    if (viewed !== bytes) {
      viewed = bytes;
      views = [];
    }
    if (end <= USUAL_SIZE) views[end] ??= bytes.subarray(0, end);
    this.#outer.write(
      hash('sha256', views[end] ?? bytes.subarray(0, end), 'latin1'),
      BLOCK,
      'latin1',
    );
    return hash('sha256', this.#outer, 'base64url');
  }
}
