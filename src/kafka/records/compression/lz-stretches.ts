/**
 * Base of LZ4 and Snappy, which Node does not have: literals, and matches that reach back into the
 * unpacked bytes. The last 64 KiB stay in memory, the reach of LZ4 and of Snappy's encoders.
 */
import type { Stretches } from './stretches.ts';

const WINDOW_BYTES = 64 * 1024;
const LEAST_STRETCH_BYTES = 4 * 1024;
/** Shorter literals are copied faster byte by byte. */
const SHORT = 32;

export abstract class LzStretches implements Stretches {
  readonly bytes: Buffer;
  /** Position of the next byte to read. */
  at = 0;
  /** Set by `token`: number of input bytes to copy, then of unpacked bytes from `distance` back. */
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
    // Most batches are small, and so is the first stretch.
    this.#size = Math.min(stretchBytes, Math.max(LEAST_STRETCH_BYTES, bytes.length * 4));
  }

  /** Reads the next literals or match. @returns false at the end. @throws Error for damaged bytes */
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
      // The bytes unpacked before are returned first.
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
          throw new Error('compressed data refer to what is not there');
        const count = Math.min(this.match, out.length - write);
        if (count >= SHORT && distance >= count)
          out.copyWithin(write, write - distance, write - distance + count);
        // An overlapping match repeats what it has just written.
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
