/**
 * How much may go on at once against one group of hosts, learnt from its answers: additive increase, multiplicative decrease.
 * A service that is asked for too much recovers sooner when it is asked for less, and retries alone only ask later.
 */
import type { Clock } from '../base/clock.ts';
import type { ServiceAttempt } from './problems.ts';

/** Answers, and missing ones, that mean "too much at once"; everything else says nothing about load. */
const OVERLOAD: ReadonlySet<string> = new Set([
  '429',
  '503',
  'connect_timeout',
  'headers_timeout',
  'body_timeout',
]);

export interface AdaptiveLimitOptions {
  /** Never more than this at once; where the limit begins. */
  readonly max: number;
  /** The limit is cut at most once in this time, ms, and grows by one after as long without an overload. */
  readonly windowMs: number;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Told the limit at first, and whenever it changed. */
  readonly onChange: (limit: number) => void;
}

export class AdaptiveLimit {
  readonly #options: AdaptiveLimitOptions;
  #limit: number;
  #cutMs = Number.NEGATIVE_INFINITY;
  /** Since when there was neither an overload nor a growth. */
  #quietSinceMs: number;

  constructor(options: AdaptiveLimitOptions) {
    this.#options = options;
    this.#limit = options.max;
    this.#quietSinceMs = options.clock.monotonic();
    options.onChange(this.#limit);
  }

  get current(): number {
    return this.#limit;
  }

  /** Learns from one exchange that began at `startedMs`. @returns the attempt as it is. */
  learn<T>(attempt: ServiceAttempt<T>, startedMs: number): ServiceAttempt<T> {
    if (attempt.ok) this.#succeeded();
    else if (OVERLOAD.has(attempt.error.reason)) this.overloaded(startedMs);
    return attempt;
  }

  /** The exchange that began at `startedMs` was too much. */
  overloaded(startedMs: number): void {
    const { windowMs, clock } = this.#options;
    const nowMs = clock.monotonic();
    this.#quietSinceMs = nowMs;
    // What began before the last cut ran under the limit that was cut: its failure is the same news.
    if (startedMs < this.#cutMs || nowMs - this.#cutMs < windowMs) return;
    this.#cutMs = nowMs;
    this.#change(Math.max(1, Math.floor(this.#limit / 2)));
  }

  #succeeded(): void {
    const { windowMs, clock, max } = this.#options;
    const nowMs = clock.monotonic();
    if (this.#limit >= max || nowMs - this.#quietSinceMs < windowMs) return;
    this.#quietSinceMs = nowMs;
    this.#change(this.#limit + 1);
  }

  #change(limit: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    this.#options.onChange(limit);
  }
}
