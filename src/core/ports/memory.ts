/**
 * Reserved bytes of the memory budget (I7). The owner declares it with `using`, or disposes of it
 * when it is disposed of itself.
 */
export interface Lease extends Disposable {
  readonly bytes: number;
  /** Sets the size at once, without waiting for room. */
  resize(bytes: number): void;
  /** Reports that the owner will release the bytes soon and need not be called to make room. */
  seal(): void;
  /** Releases all bytes. Idempotent. */
  [Symbol.dispose](): void;
}
