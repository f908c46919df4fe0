/**
 * Reserved bytes of the memory budget (I7). The owner holds it with `using`, or disposes of it as
 * part of its own disposal.
 */
export interface Lease extends Disposable {
  readonly bytes: number;
  /** Sets the size at once, without waiting for room. */
  resize(bytes: number): void;
  /** Gives all bytes back. Repeatable. */
  [Symbol.dispose](): void;
}
