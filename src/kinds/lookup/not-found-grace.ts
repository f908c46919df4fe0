/** Since when the service has not known an id, or refused it. Both may pass, also for a decision that was there before. */

/** Ids that are kept apart at a time, about 150 bytes each. */
const MOST = 10_000;
/** From the end of its grace: more than `review.poll.max` may be, so that what is forgotten is asked for no more, ms. */
const FORGET_MS = 7_200_000;

export class Grace {
  readonly #graceMs: number;
  readonly #most: number;
  /** Times of the first such answers in a row, ms; the oldest first. */
  readonly #sinceMs = new Map<string, number>();

  /** @param graceMs how long the service may say so before it is believed */
  constructor(graceMs: number, most = MOST) {
    this.#graceMs = graceMs;
    this.#most = most;
  }

  /** The service has said so once more. @returns whether it is to be believed */
  isOver(place: string, nowMs: number): boolean {
    const sinceMs = this.#sinceMs.get(place) ?? this.#begin(place, nowMs);
    if (nowMs - sinceMs < this.#graceMs) return false;
    this.#sinceMs.delete(place);
    return true;
  }

  /** The service knows it. */
  end(place: string): void {
    this.#sinceMs.delete(place);
  }

  /** One for which there is no room begins when others are through: it may wait too long, but is not believed too soon. */
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
