/** Grace period of ids that are unknown or refused: both may be transient. */

/** Ids remembered, about 150 bytes each. */
const MOST = 10_000;
/** Time from the end of the grace until an id is forgotten, ms: more than `review.poll`. */
const FORGET_MS = 7_200_000;

export class Grace {
  readonly #graceMs: number;
  readonly #most: number;
  /** Start of the uninterrupted series of such responses by id, ms; the oldest first. */
  readonly #sinceMs = new Map<string, number>();

  /** @param graceMs time after which such responses are final, ms */
  constructor(graceMs: number, most = MOST) {
    this.#graceMs = graceMs;
    this.#most = most;
  }

  /** Counts another such response. @returns whether it is final */
  isOver(place: string, nowMs: number): boolean {
    const sinceMs = this.#sinceMs.get(place) ?? this.#begin(place, nowMs);
    if (nowMs - sinceMs < this.#graceMs) return false;
    this.#sinceMs.delete(place);
    return true;
  }

  /** The id was found. */
  end(place: string): void {
    this.#sinceMs.delete(place);
  }

  /** Without room the series starts later: its end may be late, but never early. */
  #begin(place: string, nowMs: number): number {
    if (this.#sinceMs.size >= this.#most) this.#forget(nowMs);
    if (this.#sinceMs.size < this.#most) this.#sinceMs.set(place, nowMs);
    return nowMs;
  }

  #forget(nowMs: number): void {
    for (const [place, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs <= this.#graceMs + FORGET_MS) return;
      this.#sinceMs.delete(place);
    }
  }
}
