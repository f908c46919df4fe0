/** Durations in buckets that grow by a tenth: quantiles come out as close, at a few numbers per sample. */
const GROWTH = Math.log(1.1);
const SMALLEST_SECONDS = 0.001;

export class Durations {
  readonly #counts = new Map<number, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(seconds: number, times = 1): void {
    const bucket = Math.max(
      0,
      Math.ceil(Math.log(Math.max(seconds, SMALLEST_SECONDS) / SMALLEST_SECONDS) / GROWTH),
    );
    this.#count(bucket, times);
  }

  addAll(other: Durations): void {
    for (const [bucket, count] of other.#counts) this.#count(bucket, count);
  }

  /** Seconds that a share of `q` (0 to 1) does not exceed; null when there are none. */
  quantile(q: number): number | null {
    if (this.#size === 0) return null;
    let rank = Math.max(1, Math.ceil(q * this.#size));
    const ascending = [...this.#counts].sort(([a], [b]) => a - b);
    for (const [bucket, count] of ascending) {
      // As if the durations of a bucket were spread evenly over it: a line of quantiles then moves instead of jumping.
      if (rank <= count)
        return bucket === 0
          ? 0
          : SMALLEST_SECONDS * Math.exp((bucket - 1 + (rank - 0.5) / count) * GROWTH);
      rank -= count;
    }
    return null;
  }

  #count(bucket: number, by: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + by);
    this.#size += by;
  }
}
