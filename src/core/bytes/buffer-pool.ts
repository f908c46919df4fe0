/**
 * Pool of reusable buffers. Without it, each large allocation outside the heap would bring the next
 * full garbage collection closer. A buffer has one owner from `take` until `give` or `drop`.
 */

/** Minimum and maximum size of a buffer that the pool keeps. Sizes are powers of two. */
const LEAST_BYTES = 8 * 1024;
const MOST_BYTES = 4 * 1024 * 1024;

export class BufferPool {
  readonly #maxIdleBytes: number;
  readonly #idle = new Map<number, Buffer<ArrayBuffer>[]>();
  #idleBytes = 0;
  #lentBytes = 0;

  /** @param maxIdleBytes maximum total size of the buffers without an owner */
  constructor(maxIdleBytes: number) {
    this.#maxIdleBytes = maxIdleBytes;
  }

  /** Bytes of buffers with an owner. */
  get lentBytes(): number {
    return this.#lentBytes;
  }

  /** Bytes of buffers without an owner. */
  get idleBytes(): number {
    return this.#idleBytes;
  }

  /** Returns a buffer of at least this size, with its own ArrayBuffer and undefined contents. */
  take(bytes: number): Buffer<ArrayBuffer> {
    const size = bufferSize(bytes);
    const idle = this.#idle.get(size)?.pop();
    if (idle !== undefined) this.#idleBytes -= size;
    this.#lentBytes += size;
    return idle ?? Buffer.from(new ArrayBuffer(size));
  }

  /** Takes back a whole buffer that `take` returned. Nothing may read the buffer afterwards. */
  give(buffer: Buffer<ArrayBuffer>): void {
    const size = buffer.length;
    this.#lentBytes -= size;
    if (size > MOST_BYTES || this.#idleBytes + size > this.#maxIdleBytes) {
      // Frees the memory now instead of at the next full garbage collection.
      buffer.buffer.transfer(0);
      return;
    }
    const idle = this.#idle.get(size);
    if (idle === undefined) this.#idle.set(size, [buffer]);
    else idle.push(buffer);
    this.#idleBytes += size;
  }

  /** Leaves a buffer to the garbage collector, because something may still read it. */
  drop(buffer: Buffer<ArrayBuffer>): void {
    this.#lentBytes -= buffer.length;
  }
}

/** Returns the size of the buffer that `take` returns for a request of `bytes` bytes. */
function bufferSize(bytes: number): number {
  if (bytes > MOST_BYTES) return Math.ceil(bytes);
  let size = LEAST_BYTES;
  while (size < bytes) size *= 2;
  return size;
}
