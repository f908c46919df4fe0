/** Waits for conditions on state that changes in many places. */
import { abortable } from '../../../packages/client/src/base/abortable.ts';

export class Conditions {
  readonly #looks = new Set<() => void>();

  /** Resolves when the condition holds. It is checked at once and at each `look`. @throws the signal's reason */
  async until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (!holds()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#looks.add(resolve);
      await abortable(promise, signal).finally(() => this.#looks.delete(resolve));
    }
  }

  /** Must be called when a condition may have become true. */
  look(): void {
    for (const look of this.#looks) look();
  }
}
