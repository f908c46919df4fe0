/** Limits for log lines about what happens again and again. */

const EVERY_MS = 300_000;
const MOST = 20;

/** Each kind once, and few of them in all: kinds may be made of what comes from outside. */
export class Once {
  readonly #said = new Set<string>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** True if to log it: the first of its kind. */
  allows(kind: string): boolean {
    if (this.#said.has(kind) || this.#said.size >= this.#most) return false;
    this.#said.add(kind);
    return true;
  }
}

/** The same for calls that are made again for as long as it takes: once in five minutes, of twenty kinds at most. */
export class Seldom {
  #once = new Once(MOST);
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs on the monotonic clock */
  allows(kind: string, nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= EVERY_MS) {
      this.#once = new Once(MOST);
      this.#sinceMs = nowMs;
    }
    return this.#once.allows(kind);
  }
}
