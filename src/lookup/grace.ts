/** Since when the service has not known an id, or refused it. Both may pass, also for a decision that was there before. */

/** Ids that are kept apart, about 150 bytes each; for more the time counts from the job's creation. */
const MOST = 10_000;
/** From the end of its grace: whoever asks no more about an id by then has lost the shard, ms. */
const FORGET_MS = 86_400_000;

export class Grace {
  readonly #graceMs: number;
  readonly #most: number;
  /** Wall clock, ms, of the first such answer in a row. */
  readonly #sinceMs = new Map<string, number>();

  /** @param graceMs how long the service may say so before it is believed */
  constructor(graceMs: number, most = MOST) {
    this.#graceMs = graceMs;
    this.#most = most;
  }

  /** The service has said so once more. @returns whether it is to be believed */
  isOver(place: string, nowMs: number, createdMs: number): boolean {
    const sinceMs = this.#sinceMs.get(place) ?? this.#begin(place, nowMs, createdMs);
    if (nowMs - sinceMs < this.#graceMs) return false;
    this.#sinceMs.delete(place);
    return true;
  }

  /** The service knows it. */
  end(place: string): void {
    this.#sinceMs.delete(place);
  }

  #begin(place: string, nowMs: number, createdMs: number): number {
    if (this.#sinceMs.size >= this.#most) this.#forget(nowMs);
    if (this.#sinceMs.size >= this.#most) return createdMs;
    this.#sinceMs.set(place, nowMs);
    return nowMs;
  }

  #forget(nowMs: number): void {
    for (const [place, sinceMs] of this.#sinceMs) {
      if (nowMs - sinceMs > this.#graceMs + FORGET_MS) this.#sinceMs.delete(place);
    }
  }
}
