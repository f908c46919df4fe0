import type { Permits } from '../http/permits.ts';
import type { ServiceAttempt } from './error-classification.ts';
import type { ServiceContext, ServiceTarget } from './options.ts';

/** Failures that mean "too much at once"; no other outcome indicates load. */
const OVERLOAD = /^(429|503|connect_timeout|headers_timeout|body_timeout)$/;

/**
 * Concurrency limit of one group of hosts, learnt from its answers: additive increase,
 * multiplicative decrease. An overloaded service recovers sooner with fewer requests; retries alone
 * only send the same number later.
 */
export class AdaptiveLimit {
  readonly #context: ServiceContext;
  readonly #target: ServiceTarget;
  readonly #max: number;
  readonly #lanes: readonly Permits[];
  #limit: number;
  #cutMs = -Infinity;
  /** Since when there was neither an overload nor a growth. */
  #quietSinceMs: number;

  /**
   * @param max where the limit begins, and its upper bound
   * @param lanes permits that the limit resizes
   */
  constructor(
    context: ServiceContext,
    target: ServiceTarget,
    max: number,
    lanes: readonly Permits[],
  ) {
    this.#context = context;
    this.#target = target;
    this.#max = max;
    this.#lanes = lanes;
    this.#limit = max;
    this.#quietSinceMs = context.clock.monotonic();
    context.observer.limit(target, max);
  }

  /** Adapts the limit to the result of an attempt that began at `startedMs`, and returns the attempt. */
  learn<T>(attempt: ServiceAttempt<T>, startedMs: number): ServiceAttempt<T> {
    if (!attempt.ok) {
      if (OVERLOAD.test(attempt.error.reason)) this.overloaded(startedMs);
      return attempt;
    }
    const nowMs = this.#context.clock.monotonic();
    if (this.#limit < this.#max && nowMs - this.#quietSinceMs >= this.#windowMs) {
      this.#quietSinceMs = nowMs;
      this.#change(this.#limit + 1);
    }
    return attempt;
  }

  /** Lowers the limit after an exchange that began at `startedMs` and met an overload. */
  overloaded(startedMs: number): void {
    const nowMs = this.#context.clock.monotonic();
    this.#quietSinceMs = nowMs;
    // An exchange from before the last cut ran under the old limit: it is no evidence against the new one.
    if (startedMs < this.#cutMs || nowMs - this.#cutMs < this.#windowMs) return;
    this.#cutMs = nowMs;
    this.#change(Math.max(1, Math.floor(this.#limit / 2)));
  }

  /** The limit is cut at most once in this time, and grows by one after as long without overload. */
  get #windowMs(): number {
    return this.#context.settings.limitWindowMs;
  }

  #change(limit: number): void {
    if (limit === this.#limit) return;
    this.#limit = limit;
    for (const permits of this.#lanes) permits.resize(limit);
    this.#context.observer.limit(this.#target, limit);
  }
}
