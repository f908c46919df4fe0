/** Decompression of gzip members and zstd frames by node:zlib: in one call if they are small, otherwise as a stream. */
import type { Transform } from 'node:stream';
import {
  constants,
  createInflateRaw,
  createZstdDecompress,
  inflateRawSync,
  zstdDecompressSync,
} from 'node:zlib';
import type { Stretches } from './stretches.ts';

// Memory for decompressors and their windows, limited to 64 MiB for the process, because each shard
// has a fetch and each fetch may have batches with large windows. A window larger than the limit
// takes all of it. An idle decompressor gives up its memory while others wait, because its reader
// may itself be waiting for memory that they have.

const ROOM_BYTES = 64 * 1024 * 1024;
/** Memory of a decompressor in addition to its window, in bytes. */
const DECOMPRESSOR_BYTES = 1024 * 1024;
const PATIENCE_MS = 1_000;

interface RoomTaken {
  readonly bytes: number;
  readonly enter: () => void;
  readonly giveUp: () => void;
}

let free = ROOM_BYTES;
const holders = new Set<RoomTaken>();
const line: RoomTaken[] = [];
let watching = false;

/**
 * Resolves when there is room, in call order.
 * @param giveUp called every second while others wait; frees the room if nothing was unpacked since
 * the last call
 * @returns an idempotent function that frees the room
 */
function takeRoom(windowBytes: number, giveUp: () => void): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const bytes = Math.min(windowBytes + DECOMPRESSOR_BYTES, ROOM_BYTES);
  const place: RoomTaken = { bytes, enter: () => resolve(() => leave(place)), giveUp };
  line.push(place);
  letIn();
  if (line.length > 0) watch();
  return promise;
}

function leave(place: RoomTaken): void {
  if (!holders.delete(place)) return;
  free += place.bytes;
  letIn();
}

function letIn(): void {
  for (let next = line[0]; next !== undefined && next.bytes <= free; next = line[0]) {
    line.shift();
    holders.add(next);
    free -= next.bytes;
    next.enter();
  }
}

function watch(): void {
  if (watching) return;
  watching = true;
  setTimeout(() => {
    watching = false;
    if (line.length === 0) return;
    for (const { giveUp } of [...holders]) giveUp();
    if (line.length > 0) watch();
  }, PATIENCE_MS);
}

interface ZlibKind {
  /** Returns the start of the packed data in the member at `at`. */
  body(bytes: Buffer, at: number): number;
  whole(bytes: Buffer, options: { maxOutputLength: number; info: boolean }): unknown;
  stream(
    options: { chunkSize: number },
    packed: Buffer,
  ): Transform & { readonly bytesWritten: number };
  /** Size of the member's window. */
  windowBytes(packed: Buffer): number;
  /** Number of bytes after the compressed data of each member. */
  readonly trailerBytes: number;
}

interface Whole {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/** Maximum number of members per batch. Each needs its own decompressor, and known producers write only one. */
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
  /** True if a stretch was requested since the last check for idle decompressors. */
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

  /** Unpacks a member as a stream. If it had to give up its room, it starts again from the beginning. */
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
    // A member without packed bytes would be read again endlessly.
    this.#at = end > this.#at ? end + this.#kind.trailerBytes : this.#bytes.length;
  }
}

// gzip members (RFC 1952).

/** Truncated data is unpacked too. Counting the records reveals the missing ones. */
const CUT = { finishFlush: constants.Z_SYNC_FLUSH };

export const GZIP: ZlibKind = {
  body: gzipBody,
  whole: (part, options) => inflateRawSync(part, { ...CUT, ...options }),
  stream: (options) => createInflateRaw({ ...CUT, ...options }),
  windowBytes: () => 32 * 1024,
  /** CRC-32 and size of the unpacked data. */
  trailerBytes: 8,
};

const FHCRC = 2;
const FEXTRA = 4;
const FNAME = 8;
const FCOMMENT = 16;

/**
 * Returns the start of a gzip member's deflated data. Node's gunzip cannot be used, because it
 * fails if bytes follow the last member.
 */
function gzipBody(bytes: Buffer, start: number): number {
  if (start + 10 > bytes.length || bytes.readUIntBE(start, 3) !== 0x1f8b08)
    throw new Error('not a gzip header');
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

// zstd frames. Decoders keep a window in memory that is as large as the maximum distance of a match
// (RFC 8878, 3.1.1.1).

/** Maximum window as a power of 2, which is zstd's default. Producers at level 22 use it even for small batches. */
const MAX_WINDOW_LOG = 27;
const LEAST_WINDOW_LOG = 20;

const MAGIC = 0xfd2fb528;
const SINGLE_SEGMENT = 0x20;
const LONGEST_HEADER_BYTES = 18;

const windowOf = (log: number) => ({ params: { [constants.ZSTD_d_windowLogMax]: log } });

export const ZSTD: ZlibKind = {
  body: (_, at) => at,
  whole: (part, options) => zstdDecompressSync(part, { ...windowOf(MAX_WINDOW_LOG), ...options }),
  // A stream may continue into the next frame, whose window must not exceed the reserved room.
  stream: (options, frame) =>
    createZstdDecompress({ ...windowOf(logOf(windowBytes(frame))), ...options }),
  windowBytes,
  trailerBytes: 0,
};

const logOf = (bytes: number) =>
  Math.min(MAX_WINDOW_LOG, Math.max(LEAST_WINDOW_LOG, Math.ceil(Math.log2(bytes))));

/** Returns the size of a zstd frame's window in bytes, or 0 for other bytes. */
function windowBytes(frame: Buffer): number {
  if (frame.length < LONGEST_HEADER_BYTES || frame.readUInt32LE(0) !== MAGIC) return 0;
  const descriptor = frame.readUInt8(4);
  if ((descriptor & SINGLE_SEGMENT) === 0) {
    const window = frame.readUInt8(5);
    return 2 ** (10 + (window >> 3)) * (1 + (window & 7) / 8);
  }
  // The window is as large as the content, whose size follows the dictionary id.
  const at = 5 + ([0, 1, 2, 4][descriptor & 3] as number);
  switch (descriptor >> 6) {
    case 0:
      return frame.readUInt8(at);
    case 1:
      return 256 + frame.readUInt16LE(at);
    case 2:
      return frame.readUInt32LE(at);
    default:
      return Number(frame.readBigUInt64LE(at));
  }
}
