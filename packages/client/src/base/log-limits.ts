/** Limits on log lines about recurring events. */

const EVERY_MS = 300_000;

/** Allows each key once, for at most `most` keys. The number is limited, because keys may come from untrusted input. */
export class LogOnce {
  readonly #logged = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns true for the first event with this key. */
  allows(key: string): boolean {
    if (this.#logged.has(key) || this.#logged.size >= this.#most) return false;
    this.#logged.add(key);
    return true;
  }
}

/** Limit for events that may recur indefinitely. Allows each key at most once in five minutes. */
export class LogSeldom {
  readonly #most: number;
  #once: LogOnce;
  #sinceMs = -Infinity;

  /** @param most maximum number of keys in five minutes */
  constructor(most = 20) {
    this.#most = most;
    this.#once = new LogOnce(most);
  }

  /** @param nowMs time in ms (monotonic clock) */
  allows(key: string, nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= EVERY_MS) {
      this.#once = new LogOnce(this.#most);
      this.#sinceMs = nowMs;
    }
    return this.#once.allows(key);
  }
}
