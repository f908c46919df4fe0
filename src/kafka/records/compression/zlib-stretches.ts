/** gzip members and zstd frames, unpacked by node:zlib: at once when they are small, and as a stream when they are not. */
import type { Transform } from 'node:stream';
import type { Stretches } from './stretches.ts';

export interface ZlibKind {
  /** Where the packed data of the member begins that begins at `at`. */
  body(bytes: Buffer, at: number): number;
  whole(bytes: Buffer, options: { maxOutputLength: number; info: boolean }): unknown;
  stream(options: { chunkSize: number }, packed: Buffer): Transform & { readonly bytesWritten: number };
  /** Of such streams, when not all may run side by side: the bytes after which one needs a turn, and what resolves when it has it (wide-turn.ts). */
  readonly turns?: { freeBytes(packed: Buffer): number; take(giveUp: () => void): Promise<() => void> };
  /** What stands behind the packed data of each member. */
  readonly trailerBytes: number;
}

interface Whole {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/** Each costs a decompressor of its own; known producers write one. */
const MAX_MEMBERS = 1_000;

export class ZlibStretches implements Stretches {
  readonly #bytes: Buffer;
  readonly #stretchBytes: number;
  readonly #kind: ZlibKind;
  #at = 0;
  #members = 0;
  /** The member being unpacked, when it is large. */
  #stream: (Transform & { readonly bytesWritten: number }) | undefined;
  #chunks: AsyncIterator<Buffer> | undefined;
  /** Bytes that it gives without a turn. */
  #free = 0;
  #endTurn: (() => void) | undefined;
  /** The turn was given up: the member is unpacked from its start again. */
  #suspended = false;
  /** Bytes of the member that were handed out, and those of them that the stream has not passed again. */
  #given = 0;
  #again = 0;
  #unpacking = false;
  /** Something was asked for since somebody wanted the turn. */
  #active = false;
  #closed = false;

  constructor(bytes: Buffer, stretchBytes: number, kind: ZlibKind) {
    this.#bytes = bytes;
    this.#stretchBytes = stretchBytes;
    this.#kind = kind;
  }

  next(): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.#suspended) this.#open(this.#at);
    if (this.#stream !== undefined) return this.#chunk();
    if (this.#at >= this.#bytes.length) return undefined;
    if (++this.#members > MAX_MEMBERS) throw new Error(`more than ${MAX_MEMBERS} compressed members in one batch`);
    const from = this.#kind.body(this.#bytes, this.#at);
    const packed = this.#bytes.subarray(from);
    const whole = packed.length > this.#stretchBytes ? undefined : this.#atOnce(packed);
    if (whole === undefined) {
      this.#given = 0;
      this.#open(from);
      return this.#chunk();
    }
    this.#endMember(from + whole.engine.bytesWritten);
    return whole.buffer;
  }

  close(): void {
    this.#closed = true;
    this.#suspended = false;
    this.#at = this.#bytes.length;
    this.#drop();
  }

  #open(at: number): void {
    const packed = this.#bytes.subarray(at);
    this.#at = at;
    this.#suspended = false;
    this.#again = this.#given;
    this.#stream = this.#kind.stream({ chunkSize: this.#stretchBytes }, packed);
    this.#free = this.#kind.turns?.freeBytes(packed) ?? Number.POSITIVE_INFINITY;
    this.#chunks = this.#stream[Symbol.asyncIterator]();
    this.#stream.end(packed);
  }

  #drop(): void {
    this.#stream?.destroy();
    this.#stream = undefined;
    this.#endTurn?.();
    this.#endTurn = undefined;
  }

  #giveUp(): void {
    const mayWait = this.#active || this.#unpacking;
    this.#active = false;
    if (mayWait) return;
    this.#suspended = true;
    this.#drop();
  }

  #atOnce(packed: Buffer): Whole | undefined {
    try {
      return this.#kind.whole(packed, { maxOutputLength: this.#stretchBytes, info: true }) as Whole;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') return undefined;
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
    this.#endMember(this.#at + stream.bytesWritten);
    return this.next();
  }

  async #unpack(): Promise<Buffer | undefined> {
    if (this.#free < 0 && this.#endTurn === undefined) {
      const endTurn = await this.#kind.turns?.take(() => this.#giveUp());
      if (this.#closed) endTurn?.();
      else this.#endTurn = endTurn;
    }
    const chunk = await this.#chunks?.next();
    if (chunk?.done !== false) return undefined;
    this.#free -= chunk.value.length;
    return chunk.value;
  }

  #endMember(end: number): void {
    // A member that took nothing would be met again and again.
    this.#at = end > this.#at ? end + this.#kind.trailerBytes : this.#bytes.length;
  }
}
