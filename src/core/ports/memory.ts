/**
 * Reserved bytes of the memory budget (I7). The owner holds it with `using`, or disposes of it as
 * part of its own disposal.
 */
export interface Lease extends Disposable {
  readonly bytes: number;
  /** Sets the size at once, without waiting for room. */
  resize(bytes: number): void;
  /** Reports that the owner gives the bytes back soon, without being called to make room. */
  seal(): void;
  /** Gives all bytes back. Repeatable. */
  [Symbol.dispose](): void;
}
