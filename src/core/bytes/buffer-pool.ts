/**
 * Buffers that are used again. Memory outside the heap is dear to the collector: each large allocation brings the next full
 * collection nearer. A buffer has one owner at a time, from `take` to `give`.
 */

/** Buffers of these sizes are kept; the sizes between are powers of two. */
const LEAST_BYTES = 8 * 1024;
const MOST_BYTES = 4 * 1024 * 1024;

export class BufferPool {
  readonly #maxIdleBytes: number;
  readonly #idle = new Map<number, Buffer<ArrayBuffer>[]>();
  #idleBytes = 0;
  #lentBytes = 0;

  /** @param maxIdleBytes kept at most for the next owner */
  constructor(maxIdleBytes: number) {
    this.#maxIdleBytes = maxIdleBytes;
  }

  /** Bytes of buffers that have an owner. */
  get lentBytes(): number {
    return this.#lentBytes;
  }

  /** Bytes of buffers that wait for one. */
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

  /** Gives back a whole buffer of `take`; nothing may read it any more. One that was moved to another thread and back is the same. */
  give(buffer: Buffer<ArrayBuffer>): void {
    const size = buffer.length;
    this.#lentBytes -= size;
    if (size > MOST_BYTES || this.#idleBytes + size > this.#maxIdleBytes) return;
    const idle = this.#idle.get(size);
    if (idle === undefined) this.#idle.set(size, [buffer]);
    else idle.push(buffer);
    this.#idleBytes += size;
  }

  /** Takes a buffer of `take` off the books without lending it again: something may still read it. */
  drop(buffer: Buffer<ArrayBuffer>): void {
    this.#lentBytes -= buffer.length;
  }

  /** Counts buffers as taken that were made elsewhere, in sizes of `bufferSize`, and will be given here. */
  adopt(bytes: number): void {
    this.#lentBytes += bytes;
  }

  /** Counts buffers as given that will not come back. */
  lose(bytes: number): void {
    this.#lentBytes -= bytes;
  }
}

/** Returns the size of the buffer that `take` gives for so many bytes. */
export function bufferSize(bytes: number): number {
  if (bytes > MOST_BYTES) return Math.ceil(bytes);
  let size = LEAST_BYTES;
  while (size < bytes) size *= 2;
  return size;
}
