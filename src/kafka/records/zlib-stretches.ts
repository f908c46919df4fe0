/** gzip members and zstd frames, unpacked by node:zlib: at once when they are small, and as a stream when they are not. */
import type { Transform } from 'node:stream';
import type { Stretches } from './stretches.ts';
import { takeWideTurn } from './wide-turn.ts';

export interface ZlibKind {
  /** Where the packed data of the member begins that begins at `at`. */
  body(bytes: Buffer, at: number): number;
  whole(bytes: Buffer, options: { maxOutputLength: number; info: boolean }): unknown;
  stream(options: { chunkSize: number }, packed: Buffer): Transform & { readonly bytesWritten: number };
  /** Bytes after which such a stream needs the turn of wide-turn.ts. */
  freeBytes(packed: Buffer): number;
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
  #closed = false;

  constructor(bytes: Buffer, stretchBytes: number, kind: ZlibKind) {
    this.#bytes = bytes;
    this.#stretchBytes = stretchBytes;
    this.#kind = kind;
  }

  next(): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.#stream !== undefined) return this.#chunk();
    if (this.#at >= this.#bytes.length) return undefined;
    if (++this.#members > MAX_MEMBERS) throw new Error(`more than ${MAX_MEMBERS} compressed members in one batch`);
    const from = this.#kind.body(this.#bytes, this.#at);
    const packed = this.#bytes.subarray(from);
    const whole = packed.length > this.#stretchBytes ? undefined : this.#atOnce(packed);
    if (whole === undefined) {
      this.#at = from;
      this.#stream = this.#kind.stream({ chunkSize: this.#stretchBytes }, packed);
      this.#free = this.#kind.freeBytes(packed);
      this.#chunks = this.#stream[Symbol.asyncIterator]();
      this.#stream.end(packed);
      return this.#chunk();
    }
    this.#endMember(from + whole.engine.bytesWritten);
    return whole.buffer;
  }

  close(): void {
    this.#closed = true;
    this.#at = this.#bytes.length;
    this.#stream?.destroy();
    this.#stream = undefined;
    this.#endTurn?.();
    this.#endTurn = undefined;
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
    if (this.#free < 0 && this.#endTurn === undefined) {
      const endTurn = await takeWideTurn();
      if (this.#closed) endTurn();
      else this.#endTurn = endTurn;
    }
    const chunk = await this.#chunks?.next();
    if (chunk?.done === false) {
      this.#free -= chunk.value.length;
      return chunk.value;
    }
    const stream = this.#stream;
    if (stream === undefined) return undefined;
    this.#stream = undefined;
    this.#endTurn?.();
    this.#endTurn = undefined;
    this.#endMember(this.#at + stream.bytesWritten);
    return this.next();
  }

  #endMember(end: number): void {
    // A member that took nothing would be met again and again.
    this.#at = end > this.#at ? end + this.#kind.trailerBytes : this.#bytes.length;
  }
}

const FHCRC = 2;
const FEXTRA = 4;
const FNAME = 8;
const FCOMMENT = 16;

/** Where the deflated data of a gzip member begins (RFC 1952). Node's gunzip is of no use: bytes behind the last member fail it. */
export function gzipBody(bytes: Buffer, start: number): number {
  if (start + 10 > bytes.length || bytes.readUIntBE(start, 3) !== 0x1f8b08) throw new Error('not a gzip header');
  const flags = bytes.readUInt8(start + 3);
  let at = start + 10;
  if ((flags & FEXTRA) !== 0) at += at + 2 > bytes.length ? 2 : 2 + bytes.readUInt16LE(at);
  for (const flag of [FNAME, FCOMMENT]) {
    if ((flags & flag) === 0) continue;
    const zero = at > bytes.length ? -1 : bytes.indexOf(0, at);
    at = zero === -1 ? bytes.length + 1 : zero + 1;
  }
  if ((flags & FHCRC) !== 0) at += 2;
  if (at > bytes.length) throw new Error('a gzip header ends too early');
  return at;
}
