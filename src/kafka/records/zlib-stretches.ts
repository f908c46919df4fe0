/** Decompression of gzip and zstd by node:zlib: in one call if the batch is small, otherwise as a stream. */
import type { Transform } from 'node:stream';
import {
  constants,
  createGunzip,
  createZstdDecompress,
  gunzipSync,
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
  whole(packed: Buffer, options: { maxOutputLength: number }): Buffer;
  stream(options: { chunkSize: number }, packed: Buffer): Transform;
  windowBytes(packed: Buffer): number;
}

export class ZlibStretches implements Stretches {
  readonly #packed: Buffer;
  readonly #stretchBytes: number;
  readonly #kind: ZlibKind;
  /** Stretches of a batch that is unpacked as a stream. */
  #chunks: AsyncGenerator<Buffer, void> | undefined;
  /** Frees the stream and its room. */
  #drop = () => {};
  #unpacking = false;
  /** True if a stretch was requested since the last check for idle decompressors. */
  #active = false;
  #closed = false;

  constructor(packed: Buffer, stretchBytes: number, kind: ZlibKind) {
    this.#packed = packed;
    this.#stretchBytes = stretchBytes;
    this.#kind = kind;
  }

  next(): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.#closed) return undefined;
    if (this.#chunks === undefined) {
      const whole = this.#packed.length > this.#stretchBytes ? undefined : this.#atOnce();
      if (whole !== undefined) {
        this.#closed = true;
        return whole;
      }
      this.#chunks = this.#unpack(this.#packed);
    }
    return this.#chunk(this.#chunks);
  }

  close(): void {
    this.#closed = true;
    this.#chunks = undefined;
    this.#drop();
  }

  #atOnce(): Buffer | undefined {
    try {
      return this.#kind.whole(this.#packed, { maxOutputLength: this.#stretchBytes });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
      throw error;
    }
  }

  async #chunk(chunks: AsyncGenerator<Buffer, void>): Promise<Buffer | undefined> {
    this.#active = true;
    this.#unpacking = true;
    try {
      return (await chunks.next()).value ?? undefined;
    } finally {
      this.#unpacking = false;
    }
  }

  /** Unpacks the batch as a stream. If it had to give up its room, it starts again from the beginning. */
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
        if (!gaveUp) return;
      } finally {
        this.#drop();
      }
    }
  }
}

/** Truncated data is unpacked too. Counting the records reveals the missing ones. */
const CUT = { finishFlush: constants.Z_SYNC_FLUSH };

export const GZIP: ZlibKind = {
  whole: (packed, options) => gunzipSync(packed, { ...CUT, ...options }),
  stream: (options) => createGunzip({ ...CUT, ...options }),
  windowBytes: () => 32 * 1024,
};

// zstd frames. Decoders keep a window in memory that is as large as the maximum distance of a match
// (RFC 8878, 3.1.1.1).

/** Maximum window as an exponent of 2: zstd's default. Producers at level 22 use it even for small batches. */
const MAX_WINDOW_LOG = 27;
const LEAST_WINDOW_LOG = 20;

const MAGIC = 0xfd2fb528;
const SINGLE_SEGMENT = 0x20;
const LONGEST_HEADER_BYTES = 18;

const windowOf = (log: number) => ({ params: { [constants.ZSTD_d_windowLogMax]: log } });

export const ZSTD: ZlibKind = {
  whole: (packed, options) =>
    zstdDecompressSync(packed, { ...windowOf(MAX_WINDOW_LOG), ...options }),
  // A stream may continue into the next frame, whose window must not exceed the reserved room.
  stream: (options, frame) =>
    createZstdDecompress({ ...windowOf(logOf(windowBytes(frame))), ...options }),
  windowBytes,
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
