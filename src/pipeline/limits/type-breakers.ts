/**
 * Circuit breaker per content type. It blocks the creation of batches of a type that the service
 * rejects, that keeps failing, or for which the service cannot create batches at the moment.
 *
 * A blocked type lets one batch, the probe, through per pause until a batch of the type succeeds.
 * While a type keeps failing, only the failure of the probe counts against its content; other
 * failures are attributed to the service.
 */

import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import type { ShardState } from '../../core/journal/shard-state.ts';
import type { BreakerView } from '../../core/pipeline-view.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import type { Poison } from '../../core/record.ts';
import type { WaitReason, WaitReasons } from './wait-reasons.ts';

/** Fraction of the limit at which a warning is logged. */
const NEAR = 0.8;

/**
 * Limit on the number of content types, over all shards of a pipeline. Each type costs calls to the
 * service and a batch of its own, however few its records are, and any producer can invent types.
 */
export class TypeLimit {
  readonly #most: number;
  readonly #logger: Logger;
  readonly #refusal: Poison;
  /** Types are never removed, so that invented ones cannot displace a type that is not in use. */
  readonly #types = new Set<string>();

  constructor(most: number, logger: Logger) {
    this.#most = most;
    this.#logger = logger;
    const message = `more than ${most} content types have been used: list the types in source.types`;
    this.#refusal = { reason: 'too_many_types', message };
  }

  /** Adds the types of batches that an earlier owner created, even beyond the limit. */
  recovered({ jobs }: Pick<ShardState, 'jobs'>): void {
    for (const { record } of jobs.values()) this.#add(record.type);
  }

  /** Registers the type of a new batch. @returns the poison of its record if the limit is exceeded */
  refusal(type: string): Poison | undefined {
    if (!this.#types.has(type) && this.#types.size >= this.#most) return this.#refusal;
    this.#add(type);
    return undefined;
  }

  #add(type: string): void {
    if (this.#types.has(type)) return;
    const { size } = this.#types.add(type);
    if (size !== Math.ceil(NEAR * this.#most)) return;
    const remedy = 'list the types in source.types';
    this.#logger.warn(
      { types: size, limit: this.#most, remedy },
      'the number of content types is near its limit',
    );
  }
}

/** Number of consecutive failed batches after which a type pauses. */
export const FAILURES_IN_A_ROW = 5;
/** Time after which another probe replaces one whose call has had no response. */
const CALL_MS = 30_000;

/** Permit to create a batch. There is one probe per pause. */
export type Permit = 'free' | 'probe';

interface Breaker {
  /** Number of consecutive failed batches. */
  failures: number;
  /** True if the failures were enough for a pause. */
  failing: boolean;
  /** Number of consecutive calls to create a batch without a valid response. */
  unanswered: number;
  /** Monotonic clock, ms; 0 if the type is not blocked. */
  blockedUntilMs: number;
  reason: WaitReason;
  /** Functions that wake waiting batches, in the order of their calls. */
  readonly waiting: Set<() => void>;
  cancelTimer: (() => void) | undefined;
}

interface BreakerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly waits: WaitReasons;
  readonly pauseMs: number;
}

export class TypeBreakers {
  readonly #deps: BreakerDeps;
  readonly #breakers = new Map<string, Breaker>();

  constructor(deps: BreakerDeps) {
    this.#deps = deps;
  }

  /** Registers that the service refused to create a batch of this type. */
  rejected(type: string, error: string): void {
    const { logger, pauseMs } = this.#deps;
    this.#block(this.#breaker(type), 'type_blocked', pauseMs);
    logger.error(
      { type, pauseMs, error },
      'the service refuses this content type; its records wait',
    );
  }

  /**
   * Registers that a batch of this type failed as a whole.
   * @param enough number of consecutive failures that are enough for a pause
   * @returns true if the type keeps failing. Until it succeeds, only the failure of a probe counts
   * against the content of that batch
   */
  failed(type: string, enough = FAILURES_IN_A_ROW): boolean {
    const { logger, pauseMs } = this.#deps;
    const breaker = this.#breaker(type);
    const failures = ++breaker.failures;
    if (!breaker.failing && failures < enough) return false;
    if (!breaker.failing) {
      const about = { type, failures, pauseMs };
      logger.error(about, 'batches of this content type keep failing; its records wait');
    }
    breaker.failing = true;
    this.#block(breaker, 'type_blocked', pauseMs);
    return true;
  }

  /**
   * Registers that the service could not create a batch for a reason that does not concern the
   * type. One batch retries after a wait; the others wait for its result.
   * @param waitMs returns the wait in ms after the given number of earlier consecutive failures
   */
  unanswered(type: string, reason: WaitReason, waitMs: (before: number) => number): void {
    const breaker = this.#breaker(type);
    this.#block(breaker, reason, waitMs(breaker.unanswered++));
  }

  /** Registers that items of this type were decided. */
  succeeded(type: string): void {
    const breaker = this.#breakers.get(type);
    this.#breakers.delete(type);
    if (breaker !== undefined) wake(breaker);
  }

  /** Registers that the service created a batch of this type. */
  accepted(type: string): void {
    const breaker = this.#breakers.get(type);
    if (breaker === undefined) return;
    breaker.unanswered = 0;
    if (breaker.failing) this.#block(breaker, 'type_blocked', this.#deps.pauseMs);
    else {
      breaker.blockedUntilMs = 0;
      wake(breaker);
    }
  }

  /**
   * Returns a permit, or undefined while the type is blocked. Must be called right before a batch
   * is created: a probe blocks the type again, so an unused or lost probe costs a pause.
   */
  tryAcquire(type: string): Permit | undefined {
    const breaker = this.#breakers.get(type);
    if (breaker === undefined || breaker.blockedUntilMs === 0) return 'free';
    const { clock, pauseMs } = this.#deps;
    const nowMs = clock.monotonic();
    if (nowMs < breaker.blockedUntilMs) return undefined;
    breaker.blockedUntilMs = nowMs + (breaker.failing ? pauseMs : Math.min(pauseMs, CALL_MS));
    return 'probe';
  }

  /** Returns true if batches of this type may be created freely. */
  isFree(type: string): boolean {
    return (this.#breakers.get(type)?.blockedUntilMs ?? 0) === 0;
  }

  /** Returns true if the type is blocked now because of the type itself, and not because of the service. */
  blocks(type: string): boolean {
    const breaker = this.#breakers.get(type);
    if (breaker === undefined || breaker.reason !== 'type_blocked') return false;
    return breaker.blockedUntilMs > this.#deps.clock.monotonic();
  }

  /** Resolves to a permit when a batch may be created. @throws the signal's reason */
  async acquire(type: string, signal: AbortSignal): Promise<Permit> {
    for (;;) {
      await this.ready(type, signal);
      const permit = this.tryAcquire(type);
      if (permit !== undefined) return permit;
    }
  }

  /**
   * Resolves when a batch of this type may be created, in the order of the calls.
   * @throws the signal's reason
   */
  async ready(type: string, signal: AbortSignal): Promise<void> {
    const { clock, waits } = this.#deps;
    for (;;) {
      signal.throwIfAborted();
      const breaker = this.#breakers.get(type);
      if (breaker === undefined || breaker.blockedUntilMs <= clock.monotonic()) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      breaker.waiting.add(resolve);
      this.#arm(breaker);
      const done = waits.begin(breaker.reason, `type ${type}`);
      try {
        await abortable(promise, signal);
      } finally {
        done();
        breaker.waiting.delete(resolve);
        this.#arm(breaker);
      }
    }
  }

  /** Blocked types. */
  *blocked(): Generator<BreakerView> {
    const aheadMs = this.#deps.clock.now() - this.#deps.clock.monotonic();
    for (const [type, { reason, failures, blockedUntilMs }] of this.#breakers)
      if (blockedUntilMs > 0) yield { type, reason, failures, nextTryMs: blockedUntilMs + aheadMs };
  }

  #breaker(type: string): Breaker {
    let breaker = this.#breakers.get(type);
    if (breaker === undefined) {
      breaker = {
        failures: 0,
        failing: false,
        unanswered: 0,
        blockedUntilMs: 0,
        reason: 'type_blocked',
        waiting: new Set(),
        cancelTimer: undefined,
      };
      this.#breakers.set(type, breaker);
    }
    return breaker;
  }

  #block(breaker: Breaker, reason: WaitReason, forMs: number): void {
    const isOther = breaker.reason !== reason;
    breaker.reason = reason;
    breaker.blockedUntilMs = this.#deps.clock.monotonic() + forMs;
    // Wakes the waiting batches, because they report the reason.
    if (isOther) wake(breaker);
    else this.#arm(breaker);
  }

  /** Sets one timer for all waiting batches, so that a failed probe queues behind the others. */
  #arm(breaker: Breaker): void {
    breaker.cancelTimer?.();
    const waitMs = Math.max(0, breaker.blockedUntilMs - this.#deps.clock.monotonic());
    breaker.cancelTimer =
      breaker.waiting.size === 0 ? undefined : this.#deps.clock.after(waitMs, () => wake(breaker));
  }
}

/** Makes all waiting batches check again, in the order of their calls. */
function wake({ waiting }: Breaker): void {
  for (const look of [...waiting]) look();
}
