/**
 * Seal of the connector's column (docs/adr/0034): the body of an event part in base64url, preceded
 * by a code that authenticates it with the key of the batch, which only the journal contains.
 *
 *     a <16 characters: the first 96 bits of SHA-256(key, body)> <body>
 *
 * Letters, digits, `-` and `_` look the same in every CSV dialect and every encoding. The leading
 * letter is the version of the layout. It also prevents formulas, which begin with `-`.
 */
import { hash } from 'node:crypto';
import { copied } from './byte-writer.ts';
import { BODY_START, type EventPart } from './event-part.ts';

const VERSION = 0x61;
const CODE_LENGTH = 16;
const HEAD_LENGTH = 1 + CODE_LENGTH;
/** Size in bytes that few bodies exceed, including the key before the body. */
const USUAL_SIZE = BODY_START + 1024;
const SPACE = 0x20;

/** Views of one buffer, cached by size. Creating a view for each row would produce garbage. */
let viewed: Buffer | undefined;
let views: (Buffer | undefined)[] = [];

/** Reason for which a row is rejected if its code is wrong. */
export const FORGED = 'the reference is not the one that was uploaded';

export class RowSeal {
  /** Key of the batch. `#codeOf` copies it in front of the body, to hash both at once. */
  readonly #key = Buffer.alloc(BODY_START);

  /** @param key key of the batch: 16 bytes in base64url */
  constructor(key: string) {
    this.#key.write(key, 'base64url');
  }

  /** Returns the number of bytes that `write` writes. */
  static size({ end }: EventPart): number {
    return HEAD_LENGTH + Math.ceil(((end - BODY_START) * 4) / 3);
  }

  /** Writes the cell for an encoded part. @returns the offset of the next byte */
  write(part: EventPart, to: Buffer, start: number): number {
    const code = this.#codeOf(part);
    let at = start;
    to[at++] = VERSION;
    for (let i = 0; i < CODE_LENGTH; i++) to[at++] = code.charCodeAt(i);
    return at + to.write(part.bytes.toString('base64url', BODY_START, part.end), at, 'latin1');
  }

  /** Reads the cell bytes[start, end) into a part. @returns the reason (never the text) if the cell is not authentic */
  open(bytes: Buffer, cellStart: number, cellEnd: number, part: EventPart): string | undefined {
    let start = cellStart;
    let end = cellEnd;
    while (start < end && (bytes[start] as number) <= SPACE) start++;
    while (end > start && (bytes[end - 1] as number) <= SPACE) end--;
    const bodyStart = start + HEAD_LENGTH;
    if (end <= bodyStart || bytes[start] !== VERSION)
      return end === start
        ? 'the reference is empty'
        : 'the reference was not written by this connector';
    const to = part.reserve(end - bodyStart);
    const body = bytes.toString('latin1', bodyStart, end);
    part.end = BODY_START + to.write(body, BODY_START, 'base64url');
    const code = this.#codeOf(part);
    // Compares all characters, so that the time taken reveals nothing about the code.
    let differences = 0;
    for (let i = 0; i < CODE_LENGTH; i++)
      differences |= (bytes[start + 1 + i] as number) ^ code.charCodeAt(i);
    if (differences !== 0) return FORGED;
    part.read();
    return undefined;
  }

  /**
   * Returns the hash of key and body. Its first `CODE_LENGTH` characters are the code. A single
   * hash instead of two (HMAC) is safe, because a hash cannot be extended while 160 of its bits are
   * secret.
   */
  #codeOf({ bytes, end }: EventPart): string {
    copied(this.#key, 0, BODY_START, bytes, 0);
    if (viewed !== bytes) {
      viewed = bytes;
      views = [];
    }
    if (end <= USUAL_SIZE) views[end] ??= bytes.subarray(0, end);
    return hash('sha256', views[end] ?? bytes.subarray(0, end), 'base64url');
  }
}
