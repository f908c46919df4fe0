/**
 * Snappy as Kafka's clients write it: Java frames blocks as xerial's snappy-java does, others send
 * one bare block (github.com/google/snappy, format_description.txt). The unpacked size that a block
 * declares is not trusted, only skipped.
 */
import { LzStretches } from './lz-stretches.ts';

/** 0x82 "SNAPPY" 0x00, followed by two versions of four bytes. */
const XERIAL_MAGIC = Buffer.from('82534e4150505900', 'hex');
const XERIAL_BYTES = 16;

const cutOff = () => new Error('a Snappy block is cut off');

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

  /** Begins the next block of the frame; concatenated frames have headers between blocks. */
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

  /** Skips the length at the beginning of a block. */
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
