/** Rate limit for log lines about calls that are made again and again: each once in a while, and few of them in all. */

const EVERY_MS = 300_000;
const MOST = 20;

export class Seldom {
  readonly #told = new Set<string>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** Whether to log it: the first of its kind in five minutes, of twenty kinds at most. */
  allows(kind: string, nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= EVERY_MS || nowMs < this.#sinceMs) {
      this.#told.clear();
      this.#sinceMs = nowMs;
    }
    if (this.#told.has(kind) || this.#told.size >= MOST) return false;
    this.#told.add(kind);
    return true;
  }
}
