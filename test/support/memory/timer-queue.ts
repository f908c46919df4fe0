/** Timers sorted by time, then by order of creation. */
export interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

export class TimerQueue {
  /** Latest timer first, so that the next timer is at the end. */
  readonly #timers: Timer[] = [];

  get size(): number {
    return this.#timers.length;
  }

  /** Adds a timer. @returns a function that cancels it */
  add(atMs: number, fire: () => void): () => void {
    const timer: Timer = { atMs, fire };
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#timers[middle] as Timer).atMs > atMs) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
    return () => {
      const at = this.#timers.indexOf(timer);
      if (at >= 0) this.#timers.splice(at, 1);
    };
  }

  /** Removes and returns the first timer that is due at `untilMs` or earlier. */
  takeDue(untilMs: number): Timer | undefined {
    const next = this.#timers.at(-1);
    return next !== undefined && next.atMs <= untilMs ? this.#timers.pop() : undefined;
  }
}
