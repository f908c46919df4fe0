/**
 * Decompression of LZ4 and Snappy, which Node lacks. Both formats consist of literals and of
 * matches, which refer back to unpacked bytes: at most 64 KiB in LZ4 and with Snappy's encoders.
 * That many bytes stay in memory.
 */
import type { Stretches } from './stretches.ts';

const WINDOW_BYTES = 64 * 1024;
const LEAST_STRETCH_BYTES = 4 * 1024;
/** Length below which copying bytes one by one is faster. */
const SHORT = 32;

abstract class LzStretches implements Stretches {
  readonly bytes: Buffer;
  /** Position of the next byte to read. */
  at = 0;
  /** Set by `token`: `literals` input bytes to copy, then `match` unpacked bytes to copy from `distance` back. */
  literals = 0;
  match = 0;
  distance = 0;
  readonly #stretchBytes: number;
  #size: number;
  #window: Buffer = Buffer.alloc(0);
  #failed: unknown;
  #over = false;
  /** End of the current stretch. */
  #end = 0;

  constructor(bytes: Buffer, stretchBytes: number) {
    this.bytes = bytes;
    this.#stretchBytes = stretchBytes;
    // The first stretch is small because most batches are.
    this.#size = Math.min(stretchBytes, Math.max(LEAST_STRETCH_BYTES, bytes.length * 4));
  }

  /** Reads the next literals or match. @returns false at the end @throws Error for damaged bytes */
  protected abstract token(): boolean;

  next(): Buffer | undefined {
    if (this.#failed !== undefined) throw this.#failed;
    if (this.#over) return undefined;
    const start = this.#window.length;
    const out = Buffer.allocUnsafeSlow(start + this.#size);
    this.#window.copy(out);
    this.#end = start;
    try {
      this.#fill(out);
    } catch (error) {
      // The bytes that were unpacked before the error are returned first.
      this.#failed = error;
      if (this.#end === start) throw error;
    }
    const end = this.#end;
    this.#size = this.#stretchBytes;
    this.#window = out.subarray(Math.max(0, end - WINDOW_BYTES), end);
    return end === start ? undefined : out.subarray(start, end);
  }

  close(): void {
    this.#over = true;
    this.#window = Buffer.alloc(0);
  }

  #fill(out: Buffer): void {
    const src = this.bytes;
    let write = this.#end;
    while (write < out.length) {
      if (this.literals > 0) {
        const count = Math.min(this.literals, out.length - write);
        const read = this.at;
        if (count >= SHORT) src.copy(out, write, read, read + count);
        else for (let i = 0; i < count; i++) out[write + i] = src[read + i] as number;
        this.at += count;
        this.literals -= count;
        write += count;
      } else if (this.match > 0) {
        const { distance } = this;
        if (distance === 0 || distance > write)
          throw new Error('compressed data refer to bytes before their beginning');
        const count = Math.min(this.match, out.length - write);
        if (count >= SHORT && distance >= count)
          out.copyWithin(write, write - distance, write - distance + count);
        // Copies byte by byte, because an overlapping match repeats bytes that it has just written.
        else for (let i = write; i < write + count; i++) out[i] = out[i - distance] as number;
        this.match -= count;
        write += count;
      } else {
        if (!this.token()) {
          this.#over = true;
          return;
        }
        continue;
      }
      this.#end = write;
    }
  }
}

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

/**
 * LZ4 frames (github.com/lz4/lz4, doc/lz4_Frame_format.md and lz4_Block_format.md). Their checksums
 * are not verified, because the batch has its own.
 */
export class Lz4Stretches extends LzStretches {
  readonly #checksumBytes: number;
  /** End of the current block, without its checksum. 0 before the first block. */
  #blockEnd = 0;
  /** Low half of a token whose literals have just been read. */
  #matchCode = -1;

  /** @throws Error if the bytes do not begin with an LZ4 frame */
  constructor(bytes: Buffer, stretchBytes: number) {
    super(bytes, stretchBytes);
    if (bytes.length < LEAST_HEADER_BYTES || bytes.readUInt32LE(0) !== MAGIC) throw damaged();
    const flags = bytes.readUInt8(4);
    if ((flags & VERSION_MASK) !== VERSION || (flags & DICTIONARY) !== 0) {
      throw new Error('an LZ4 frame has an unsupported version or a dictionary');
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

  /** Begins the next block. @returns false at the end mark */
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

/** 0x82 "SNAPPY" 0x00. Two version numbers of four bytes follow. */
const XERIAL_MAGIC = Buffer.from('82534e4150505900', 'hex');
const XERIAL_BYTES = 16;

const cutOff = () => new Error('a Snappy block is cut off');

/**
 * Snappy in the forms that Kafka's clients write. Java frames blocks like xerial's snappy-java.
 * Other clients send one bare block (github.com/google/snappy, format_description.txt). The
 * unpacked size that a block declares is skipped, because it cannot be trusted.
 */
export class SnappyStretches extends LzStretches {
  readonly #framed: boolean;
  #blockEnd = 0;

  constructor(bytes: Buffer, stretchBytes: number) {
    super(bytes, stretchBytes);
    this.#framed = this.#headerAt(0);
    if (!this.#framed) this.#begin(bytes.length);
  }

  protected token(): boolean {
    if (this.at >= this.#blockEnd) return this.#framed && this.#block();
    const tag = this.#byte();
    const high = tag >> 2;
    switch (tag & 3) {
      case 0:
        this.literals = 1 + (high < 60 ? high : this.#number(high - 59));
        if (this.literals > this.#blockEnd - this.at) throw cutOff();
        return true;
      case 1:
        this.match = 4 + (high & 7);
        this.distance = ((high >> 3) << 8) | this.#byte();
        return true;
      default:
        this.match = 1 + high;
        this.distance = this.#number((tag & 3) === 2 ? 2 : 4);
        return true;
    }
  }

  /** Begins the next block of the frame. If frames are concatenated, skips the headers between them. */
  #block(): boolean {
    while (this.#headerAt(this.at)) this.at += XERIAL_BYTES;
    if (this.at >= this.bytes.length) return false;
    if (this.at + 4 > this.bytes.length) throw cutOff();
    const size = this.bytes.readInt32BE(this.at);
    this.at += 4;
    if (size < 0 || size > this.bytes.length - this.at) throw cutOff();
    this.#begin(this.at + size);
    return true;
  }

  /** Begins a block, and skips the length at its beginning. */
  #begin(end: number): void {
    this.#blockEnd = end;
    if (this.at === end) return;
    while (this.#byte() >= 0x80);
  }

  #headerAt(at: number): boolean {
    return this.bytes.subarray(at, at + XERIAL_MAGIC.length).equals(XERIAL_MAGIC);
  }

  #byte(): number {
    if (this.at >= this.#blockEnd) throw cutOff();
    return this.bytes[this.at++] as number;
  }

  #number(size: number): number {
    if (size > this.#blockEnd - this.at) throw cutOff();
    this.at += size;
    return this.bytes.readUIntLE(this.at - size, size);
  }
}
