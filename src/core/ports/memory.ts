/**
 * Reserved bytes of the memory budget (I7). An owner declares its lease with `using`, or disposes
 * of the lease in its own `dispose`.
 */
export interface Lease extends Disposable {
  readonly bytes: number;
  /** Sets the size at once, without waiting for free memory. */
  resize(bytes: number): void;
  /** Reports that the owner will release the bytes soon, so that it is not called to free memory. */
  seal(): void;
  /** Releases all bytes. Idempotent. */
  [Symbol.dispose](): void;
}
