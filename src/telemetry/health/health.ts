/**
 * What the process knows about its own health (I8): its loops, for liveness, and its conditions, for readiness.
 *
 * Liveness asks only whether the loops run. A loop that waits for the broker or the service and says so is alive, however
 * long that takes: restarting the process would not help. A loop that neither made progress nor said why it waits is stuck.
 */
import type { Metrics } from '../../core/ports/telemetry.ts';

export type LoopState = 'running' | 'waiting' | 'stuck';

export interface LoopReport {
  readonly name: string;
  readonly state: LoopState;
  /** Seconds since it last made progress or began to wait. */
  readonly seconds: number;
  /** What it waits for. */
  readonly reason?: string;
}

export interface ConditionReport {
  readonly name: string;
  readonly ready: boolean;
  readonly reason?: string;
}

export interface Liveness {
  readonly ok: boolean;
  readonly loops: readonly LoopReport[];
}

export interface Readiness {
  readonly ok: boolean;
  readonly conditions: readonly ConditionReport[];
}

export interface HealthOptions {
  /** Silence after which a loop counts as stuck, ms. */
  readonly stuckAfterMs: number;
  /** Monotonic milliseconds, so that a corrected wall clock kills nothing; default `performance.now`. */
  readonly now?: () => number;
}

interface Loop {
  sinceMs: number;
  reason: string | undefined;
  /** How long the loop itself said that it would wait, at most. */
  atMostMs: number;
}

export class Health {
  readonly #stuckAfterMs: number;
  readonly #now: () => number;
  readonly #loops = new Map<string, Loop>();
  readonly #conditions = new Map<string, string | undefined>();
  readonly #published = new Set<string>();

  constructor(options: HealthOptions) {
    this.#stuckAfterMs = options.stuckAfterMs;
    this.#now = options.now ?? (() => performance.now());
  }

  /** The loop `name` made progress just now. The first call makes the loop known. */
  beat(name: string): void {
    this.#loops.set(name, { sinceMs: this.#now(), reason: undefined, atMostMs: 0 });
  }

  /**
   * The loop waits for something outside itself, and is alive until it says otherwise. With `atMostMs` it is stuck when it
   * is silent for the threshold longer than that: for waits that the loop itself bounds (a timer, a request with a timeout).
   */
  waiting(name: string, reason: string, atMostMs: number = Number.POSITIVE_INFINITY): void {
    const loop = this.#loops.get(name);
    // The same unbounded wait said again keeps its start, so that /livez shows how long it really takes.
    if (
      loop?.reason === reason &&
      loop.atMostMs === Number.POSITIVE_INFINITY &&
      atMostMs === Number.POSITIVE_INFINITY
    )
      return;
    this.#loops.set(name, { sinceMs: this.#now(), reason, atMostMs });
  }

  /** The loop has ended as it should. */
  ended(name: string): void {
    this.#loops.delete(name);
  }

  /** The condition `name` holds. */
  ready(name: string): void {
    this.#conditions.set(name, undefined);
  }

  /** The condition `name` does not hold; the reason is shown to operators, so it says what to look at. Never holds secrets (I6). */
  notReady(name: string, reason: string): void {
    this.#conditions.set(name, reason);
  }

  /** The condition no longer counts. */
  withdraw(name: string): void {
    this.#conditions.delete(name);
  }

  liveness(): Liveness {
    const now = this.#now();
    const loops = [...this.#loops].map(([name, loop]): LoopReport => {
      const silentMs = now - loop.sinceMs;
      const allowedMs = this.#stuckAfterMs + loop.atMostMs;
      const state =
        silentMs > allowedMs ? 'stuck' : loop.reason === undefined ? 'running' : 'waiting';
      return {
        name,
        state,
        seconds: Math.round(silentMs) / 1_000,
        ...(loop.reason === undefined ? {} : { reason: loop.reason }),
      };
    });
    return { ok: loops.every((loop) => loop.state !== 'stuck'), loops };
  }

  /** Not ready until at least one condition was reported, and every reported one holds. */
  readiness(): Readiness {
    if (this.#conditions.size === 0)
      return {
        ok: false,
        conditions: [{ name: 'started', ready: false, reason: 'still starting' }],
      };
    const conditions = [...this.#conditions].map(
      ([name, reason]): ConditionReport =>
        reason === undefined ? { name, ready: true } : { name, ready: false, reason },
    );
    return { ok: conditions.every((condition) => condition.ready), conditions };
  }

  /** Puts the current state into the gauges `loops` and `ready`; called before each scrape. */
  publish(metrics: Metrics): void {
    const counts: Record<LoopState, number> = { running: 0, waiting: 0, stuck: 0 };
    for (const loop of this.liveness().loops) counts[loop.state]++;
    for (const [state, count] of Object.entries(counts)) metrics.set('loops', { state }, count);
    const conditions = this.readiness().conditions;
    for (const name of this.#published) {
      if (conditions.some((condition) => condition.name === name)) continue;
      this.#published.delete(name);
      metrics.remove('ready', { condition: name });
    }
    for (const { name, ready } of conditions) {
      this.#published.add(name);
      metrics.set('ready', { condition: name }, ready ? 1 : 0);
    }
  }
}
