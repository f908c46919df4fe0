/**
 * Pool of reusable buffers. Memory outside the heap is expensive for the collector: each large
 * allocation brings the next full collection closer. A buffer has one owner, from `take` to `give`.
 */

/** Smallest and largest kept buffer; the sizes are powers of two. */
const LEAST_BYTES = 8 * 1024;
const MOST_BYTES = 4 * 1024 * 1024;

export class BufferPool {
  readonly #maxIdleBytes: number;
  readonly #idle = new Map<number, Buffer<ArrayBuffer>[]>();
  #idleBytes = 0;
  #lentBytes = 0;

  /** @param maxIdleBytes limit of the bytes kept without an owner */
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

  /** Returns a buffer of at least so many bytes, with an ArrayBuffer of its own. Its contents are undefined. */
  take(bytes: number): Buffer<ArrayBuffer> {
    const size = bufferSize(bytes);
    const idle = this.#idle.get(size)?.pop();
    if (idle !== undefined) this.#idleBytes -= size;
    this.#lentBytes += size;
    return idle ?? Buffer.from(new ArrayBuffer(size));
  }

  /** Returns a whole buffer of `take`, which must not be read any more. */
  give(buffer: Buffer<ArrayBuffer>): void {
    const size = buffer.length;
    this.#lentBytes -= size;
    if (size > MOST_BYTES || this.#idleBytes + size > this.#maxIdleBytes) {
      // Detached memory is free at once; the collector would count it until its next full collection.
      buffer.buffer.transfer(0);
      return;
    }
    const idle = this.#idle.get(size);
    if (idle === undefined) this.#idle.set(size, [buffer]);
    else idle.push(buffer);
    this.#idleBytes += size;
  }

  /** Leaves a buffer of `take` to the collector, because it may still be read. */
  drop(buffer: Buffer<ArrayBuffer>): void {
    this.#lentBytes -= buffer.length;
  }
}

/** Returns the size of the buffer that `take` gives for so many bytes. */
function bufferSize(bytes: number): number {
  if (bytes > MOST_BYTES) return Math.ceil(bytes);
  let size = LEAST_BYTES;
  while (size < bytes) size *= 2;
  return size;
}
