/** Reads all pipelines continuously, and measures how long a partition with outstanding records gets no terminal record. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { View } from '../view.ts';

/**
 * Maximum stall of a partition with outstanding records, and maximum drain after the last fault, ms. In the worst cases
 * several steps follow each other, each of about 20 s plus the pause between attempts. For example, a request times out
 * on a half-open connection and the next claim meets another such connection, or each of two successive takeovers during
 * a drain finds an upload lost.
 */
export const STALL_BOUND_MS = 120_000;
/** Maximum age of a record under several concurrent faults. No record waits for `review.grace`. */
export const AGE_BOUND_MS = 300_000;
const PERIOD_MS = 300;
/** Timeout of a check for open transactions, ms. */
const LOOK_MS = 10_000;

export class Observer {
  /** Longest stall of a partition, ms. */
  longestStallMs = 0;
  /** Longest time for which a record of a pipeline without a quota was outstanding, ms. */
  longestDueMs = 0;
  readonly #views: readonly View[];
  /** Views of pipelines without a quota, whose records do not queue for it. */
  readonly #prompt: readonly View[];
  readonly #over = new AbortController();
  #reading: Promise<unknown> = Promise.resolve();
  #readSinceMs = performance.now();
  #running: Promise<void> | undefined;

  constructor(pipelines: readonly { readonly view: View; readonly isLimited: boolean }[]) {
    this.#views = pipelines.map(({ view }) => view);
    this.#prompt = pipelines.filter(({ isLimited }) => !isLimited).map(({ view }) => view);
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  /**
   * For each partition with outstanding records: `performance.now()` of its last terminal record, or when a record
   * became due.
   */
  owingSinceMs(): number[] {
    return this.#views.flatMap((view) => view.owingSinceMs());
  }

  /** Reads everything that is committed now. */
  async refresh(): Promise<void> {
    const read = async () => {
      this.#readSinceMs = performance.now();
      await Promise.all(this.#views.map((view) => view.read()));
    };
    this.#reading = this.#reading.then(read, read);
    await this.#reading;
  }

  /** Describes possible reasons, apart from the connector, why no terminal record is read. */
  async obstacles(): Promise<string> {
    const readMs = Math.round(performance.now() - this.#readSinceMs);
    const stable = await Promise.race([
      this.isStable().catch(String),
      sleep(LOOK_MS, 'unknown', { ref: false }),
    ]);
    return `the last read began ${readMs} ms ago; no transaction is open: ${stable}`;
  }

  /** True if no transaction is undecided in any source or output. */
  async isStable(): Promise<boolean> {
    for (const view of this.#views) if (!(await view.isStable())) return false;
    return true;
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      // Ignores errors. If a broker stays down, the stall appears in the report.
      await this.refresh().catch(() => undefined);
      const nowMs = performance.now();
      for (const { oldestDueMs = nowMs } of this.#prompt)
        this.longestDueMs = Math.max(this.longestDueMs, nowMs - oldestDueMs);
      for (const sinceMs of this.owingSinceMs())
        this.longestStallMs = Math.max(this.longestStallMs, nowMs - sinceMs);
      await sleep(PERIOD_MS, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }
}
