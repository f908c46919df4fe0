/**
 * LZ4 frames (github.com/lz4/lz4, doc/lz4_Frame_format.md and lz4_Block_format.md). Their checksums
 * are not verified: the batch has one of its own.
 */
import { LzStretches } from './lz-stretches.ts';

const MAGIC = 0x184d2204;
const LEAST_HEADER_BYTES = 7;
const VERSION_MASK = 0xc0;
const VERSION = 0x40;
const BLOCK_CHECKSUM = 0x10;
const CONTENT_SIZE = 0x08;
const DICTIONARY = 0x01;
const STORED = 0x80000000;
const MIN_MATCH = 4;

const damaged = () => new Error('an LZ4 frame is damaged');

export class Lz4Stretches extends LzStretches {
  readonly #checksumBytes: number;
  /** End of the current block, without its checksum; 0 before the first. */
  #blockEnd = 0;
  /** Low half of a token whose literals were just read. */
  #matchCode = -1;

  /** @throws Error when the bytes do not begin as an LZ4 frame. */
  constructor(bytes: Buffer, stretchBytes: number) {
    super(bytes, stretchBytes);
    if (bytes.length < LEAST_HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) throw damaged();
    const flags = bytes.readUInt8(4);
    if ((flags & VERSION_MASK) !== VERSION || (flags & DICTIONARY) !== 0) {
      throw new Error('an LZ4 frame of a kind that Kafka does not use');
    }
    this.#checksumBytes = (flags & BLOCK_CHECKSUM) === 0 ? 0 : 4;
    this.at = LEAST_HEADER_BYTES + ((flags & CONTENT_SIZE) === 0 ? 0 : 8);
  }

  protected token(): boolean {
    if (this.#matchCode >= 0 && this.at < this.#blockEnd) {
      if (this.at + 2 > this.#blockEnd) throw damaged();
      this.distance = this.bytes.readUInt16LE(this.at);
      this.at += 2;
      this.match = this.#length(this.#matchCode) + MIN_MATCH;
      this.#matchCode = -1;
      return true;
    }
    this.#matchCode = -1;
    if (this.at >= this.#blockEnd) return this.#block();
    const token = this.bytes[this.at++] as number;
    this.literals = this.#length(token >> 4);
    if (this.literals > this.#blockEnd - this.at) throw damaged();
    this.#matchCode = token & 15;
    return true;
  }

  /** Begins the next block. @returns false at the end mark. */
  #block(): boolean {
    if (this.#blockEnd > 0) this.at = this.#blockEnd + this.#checksumBytes;
    if (this.at + 4 > this.bytes.length) throw damaged();
    const header = this.bytes.readUInt32LE(this.at);
    this.at += 4;
    if (header === 0) return false;
    const size = header >= STORED ? header - STORED : header;
    if (size > this.bytes.length - this.at) throw damaged();
    this.#blockEnd = this.at + size;
    if (header >= STORED) this.literals = size;
    return true;
  }

  #length(code: number): number {
    let length = code;
    if (code !== 15) return length;
    for (;;) {
      if (this.at >= this.#blockEnd) throw damaged();
      const more = this.bytes[this.at++] as number;
      length += more;
      if (more !== 255) return length;
    }
  }
}
