/** Looks at all pipelines all the time, and watches the clock: how long does a partition with records due get no terminal record? */
import { setTimeout as sleep } from 'node:timers/promises';
import type { View } from '../view.ts';

/**
 * Longest stall of a partition that has records due, and longest drain after the last fault, ms. The worst is a request on a
 * half-open connection that times out, and a claim that then meets another one; or a drain during which a takeover finds an
 * upload lost, and another one the upload of the next attempt: some 20 s each, and the pauses between attempts.
 */
export const STALL_BOUND_MS = 120_000;
/** Bound on the age of a record under several faults at a time: none waits for `review.grace`. */
export const AGE_BOUND_MS = 300_000;
const PERIOD_MS = 300;
/** Longest look for open transactions. */
const LOOK_MS = 10_000;

export class Observer {
  /** Longest stall of a partition, ms. */
  longestStallMs = 0;
  /** Longest time for which a record was due, whatever went on, ms. */
  longestDueMs = 0;
  readonly #views: readonly View[];
  readonly #over = new AbortController();
  #reading: Promise<unknown> = Promise.resolve();
  #readSinceMs = performance.now();
  #running: Promise<void> | undefined;

  constructor(views: readonly View[]) {
    this.#views = views;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#over.abort();
    await this.#running;
  }

  /** For each partition with records due: when it last got a terminal record, or began to owe one, `performance.now()`. */
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

  /** Describes what may keep the views from moving, apart from the connector. */
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
      // A broker that is down is sat out by the readers; longer, and the stall shows in the report.
      await this.refresh().catch(() => undefined);
      const nowMs = performance.now();
      for (const { oldestDueMs = nowMs } of this.#views)
        this.longestDueMs = Math.max(this.longestDueMs, nowMs - oldestDueMs);
      for (const sinceMs of this.owingSinceMs())
        this.longestStallMs = Math.max(this.longestStallMs, nowMs - sinceMs);
      await sleep(PERIOD_MS, undefined, { signal: this.#over.signal }).catch(() => undefined);
    }
  }
}
