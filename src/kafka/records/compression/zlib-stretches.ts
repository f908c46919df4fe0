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
  /** Bytes behind the packed data of each member. */
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
  /** A member is unpacked as a stream, from its start again after it gave its room up. */
  #isOpen = false;
  #stream: (Transform & { readonly bytesWritten: number }) | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  #leaveRoom: (() => void) | undefined;
  /** Bytes of the member that were returned, and those of them that a new stream must skip. */
  #given = 0;
  #again = 0;
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
    if (this.#isOpen) return this.#chunk();
    if (this.#at >= this.#bytes.length) return undefined;
    if (++this.#members > MAX_MEMBERS)
      throw new Error(`more than ${MAX_MEMBERS} compressed members in one batch`);
    const from = this.#kind.body(this.#bytes, this.#at);
    const packed = this.#bytes.subarray(from);
    const whole = packed.length > this.#stretchBytes ? undefined : this.#atOnce(packed);
    if (whole === undefined) {
      this.#at = from;
      this.#given = 0;
      this.#isOpen = true;
      return this.#chunk();
    }
    this.#endMember(from + whole.engine.bytesWritten);
    return whole.buffer;
  }

  close(): void {
    this.#closed = true;
    this.#isOpen = false;
    this.#at = this.#bytes.length;
    this.#drop();
  }

  async #begin(): Promise<void> {
    const packed = this.#bytes.subarray(this.#at);
    this.#leaveRoom = await takeRoom(this.#kind.windowBytes(packed), () => this.#giveUp());
    if (this.#closed) {
      this.#drop();
      return;
    }
    this.#again = this.#given;
    this.#stream = this.#kind.stream({ chunkSize: this.#stretchBytes }, packed);
    this.#chunks = this.#stream[Symbol.asyncIterator]();
    this.#stream.end(packed);
  }

  #drop(): void {
    this.#stream?.destroy();
    this.#stream = undefined;
    this.#chunks = undefined;
    this.#leaveRoom?.();
    this.#leaveRoom = undefined;
  }

  #giveUp(): void {
    const mayWait = this.#active || this.#unpacking;
    this.#active = false;
    if (!mayWait) this.#drop();
  }

  #atOnce(packed: Buffer): Whole | undefined {
    try {
      return this.#kind.whole(packed, { maxOutputLength: this.#stretchBytes, info: true }) as Whole;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
        return undefined;
      throw error;
    }
  }

  async #chunk(): Promise<Buffer | undefined> {
    this.#active = true;
    this.#unpacking = true;
    try {
      for (;;) {
        const chunk = await this.#unpack();
        if (chunk === undefined) break;
        const passed = Math.min(this.#again, chunk.length);
        this.#again -= passed;
        if (passed === chunk.length) continue;
        this.#given += chunk.length - passed;
        return chunk.subarray(passed);
      }
    } finally {
      this.#unpacking = false;
    }
    const stream = this.#stream;
    if (stream === undefined) return undefined;
    this.#drop();
    this.#isOpen = false;
    this.#endMember(this.#at + stream.bytesWritten);
    return this.next();
  }

  async #unpack(): Promise<Buffer | undefined> {
    if (this.#stream === undefined) await this.#begin();
    const chunk = await this.#chunks?.next();
    return chunk?.done === false ? chunk.value : undefined;
  }

  #endMember(end: number): void {
    // A member without packed bytes would be read again and again.
    this.#at = end > this.#at ? end + this.#kind.trailerBytes : this.#bytes.length;
  }
}
