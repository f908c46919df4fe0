/** gzip members and zstd frames, unpacked by node:zlib: at once when they are small, and as a stream when they are not. */
import type { Transform } from 'node:stream';
import type { Stretches } from './stretches.ts';
import { takeRoom } from './window-room.ts';

export interface ZlibKind {
  /** Returns the start of the packed data of the member at `at`. */
  body(bytes: Buffer, at: number): number;
  whole(bytes: Buffer, options: { maxOutputLength: number; info: boolean }): unknown;
  stream(
    options: { chunkSize: number },
    packed: Buffer,
  ): Transform & { readonly bytesWritten: number };
  /** Size of the member's window. */
  windowBytes(packed: Buffer): number;
  /** Bytes after the compressed data of each member. */
  readonly trailerBytes: number;
}

interface Whole {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/** Maximum per batch: each needs a decompressor of its own; known producers write one. */
const MAX_MEMBERS = 1_000;

export class ZlibStretches implements Stretches {
  readonly #bytes: Buffer;
  readonly #stretchBytes: number;
  readonly #kind: ZlibKind;
  #at = 0;
  #members = 0;
  /** Stretches of a member that is unpacked as a stream. */
  #chunks: AsyncGenerator<Buffer, void> | undefined;
  /** Frees the stream and its room. */
  #drop = () => {};
  #unpacking = false;
  /** A stretch was requested since others wait for room. */
  #active = false;
  #closed = false;

  constructor(bytes: Buffer, stretchBytes: number, kind: ZlibKind) {
    this.#bytes = bytes;
    this.#stretchBytes = stretchBytes;
    this.#kind = kind;
  }

  next(): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.#chunks !== undefined) return this.#chunk(this.#chunks);
    if (this.#at >= this.#bytes.length) return undefined;
    if (++this.#members > MAX_MEMBERS)
      throw new Error(`more than ${MAX_MEMBERS} compressed members in one batch`);
    const from = this.#kind.body(this.#bytes, this.#at);
    const packed = this.#bytes.subarray(from);
    const whole = packed.length > this.#stretchBytes ? undefined : this.#atOnce(packed);
    if (whole === undefined) {
      this.#chunks = this.#unpack(packed);
      return this.#chunk(this.#chunks);
    }
    this.#endMember(from + whole.engine.bytesWritten);
    return whole.buffer;
  }

  close(): void {
    this.#closed = true;
    this.#chunks = undefined;
    this.#at = this.#bytes.length;
    this.#drop();
  }

  #atOnce(packed: Buffer): Whole | undefined {
    try {
      return this.#kind.whole(packed, { maxOutputLength: this.#stretchBytes, info: true }) as Whole;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
      throw error;
    }
  }

  async #chunk(chunks: AsyncGenerator<Buffer, void>): Promise<Buffer | undefined> {
    this.#active = true;
    this.#unpacking = true;
    try {
      const { value } = await chunks.next();
      if (value !== undefined) return value;
    } finally {
      this.#unpacking = false;
    }
    this.#chunks = undefined;
    return this.next();
  }

  /** Unpacks a member as a stream, from its start again each time that it gave its room up. */
  async *#unpack(packed: Buffer): AsyncGenerator<Buffer, void> {
    for (let given = 0; !this.#closed; ) {
      let gaveUp = false;
      const leave = await takeRoom(this.#kind.windowBytes(packed), () => {
        gaveUp = !this.#active && !this.#unpacking;
        this.#active = false;
        if (gaveUp) this.#drop();
      });
      const stream = this.#kind.stream({ chunkSize: this.#stretchBytes }, packed);
      this.#drop = () => {
        stream.destroy();
        leave();
      };
      if (this.#closed) return this.#drop();
      stream.end(packed);
      let unpacked = 0;
      try {
        for await (const chunk of stream) {
          const repeated = Math.min(given - unpacked, chunk.length);
          unpacked += chunk.length;
          if (unpacked <= given) continue;
          given = unpacked;
          yield chunk.subarray(repeated);
          if (gaveUp) break;
        }
        if (gaveUp) continue;
      } finally {
        this.#drop();
      }
      this.#endMember(packed.byteOffset - this.#bytes.byteOffset + stream.bytesWritten);
      return;
    }
  }

  #endMember(end: number): void {
    // A member without packed bytes would be read again and again.
    this.#at = end > this.#at ? end + this.#kind.trailerBytes : this.#bytes.length;
  }
}
