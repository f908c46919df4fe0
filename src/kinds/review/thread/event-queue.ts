/** Queue of events with one consumer. */
export class EventQueue<T> {
  #events: T[] = [];
  #wake: (() => void) | undefined;

  push(event: T): void {
    this.#events.push(event);
    this.#wake?.();
  }

  /** Resolves to the oldest event, as soon as there is one. */
  async next(): Promise<T> {
    while (this.#events.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#events.shift() as T;
  }

  /** Removes all events. */
  drain(): readonly T[] {
    return this.#events.splice(0);
  }
}
