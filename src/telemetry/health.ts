/**
 * Health of the process (I8): its loops for liveness, its conditions for readiness.
 *
 * Liveness depends only on the loops. A loop that reports a wait for the broker or the service is
 * alive however long it waits, because a restart would not help. A loop that has neither made
 * progress nor reported a wait is stuck.
 */
import type { HealthReporter, Metrics } from '../core/ports/telemetry.ts';

interface ConditionReport {
  readonly name: string;
  readonly ready: boolean;
  readonly reason?: string;
}

interface HealthOptions {
  /** Time in ms without a report after which a loop is stuck. */
  readonly stuckAfterMs: number;
  /** Monotonic clock, ms; default `performance.now`. */
  readonly now?: () => number;
}

interface Loop {
  readonly sinceMs: number;
  readonly reason?: string;
  /** Maximum duration of the wait in ms. */
  readonly atMostMs: number;
}

export class Health implements HealthReporter {
  readonly #stuckAfterMs: number;
  readonly #now: () => number;
  readonly #loops = new Map<string, Loop>();
  readonly #conditions = new Map<string, ConditionReport>();

  constructor({ stuckAfterMs, now = () => performance.now() }: HealthOptions) {
    this.#stuckAfterMs = stuckAfterMs;
    this.#now = now;
  }

  beat(name: string): void {
    this.#loops.set(name, { sinceMs: this.#now(), atMostMs: 0 });
  }

  /**
   * Reports that a loop waits for something external. If `atMostMs` is given, the loop is stuck
   * once it has not reported for `atMostMs` plus the threshold.
   */
  waiting(name: string, reason: string, atMostMs = Infinity): void {
    const loop = this.#loops.get(name);
    // A wait without a limit that is reported again keeps its start, so that /livez shows its whole duration.
    const isUnbounded = atMostMs === Infinity && loop?.atMostMs === atMostMs;
    if (isUnbounded && loop.reason === reason) return;
    this.#loops.set(name, { sinceMs: this.#now(), reason, atMostMs });
  }

  ended(name: string): void {
    this.#loops.delete(name);
  }

  ready(name: string): void {
    this.#conditions.set(name, { name, ready: true });
  }

  /** @param reason states what operators should check; never contains secrets (I6) */
  notReady(name: string, reason: string): void {
    this.#conditions.set(name, { name, ready: false, reason });
  }

  liveness() {
    const now = this.#now();
    const loops = [...this.#loops].map(([name, { sinceMs, atMostMs, ...wait }]) => {
      const silentMs = now - sinceMs;
      const isStuck = silentMs > this.#stuckAfterMs + atMostMs;
      const state = isStuck ? 'stuck' : 'reason' in wait ? 'waiting' : 'running';
      // Seconds since the loop's last progress, or since its wait began.
      return { name, state, seconds: Math.round(silentMs) / 1_000, ...wait };
    });
    return { ok: loops.every(({ state }) => state !== 'stuck'), loops };
  }

  /** Ready once at least one condition has been reported and all of them are met. */
  readiness() {
    const conditions = [...this.#conditions.values()];
    return { ok: conditions.length > 0 && conditions.every(({ ready }) => ready), conditions };
  }

  /** Sets the gauges `loops` and `ready`. Must be called before each scrape. */
  publish(metrics: Metrics): void {
    const { loops } = this.liveness();
    for (const state of ['running', 'waiting', 'stuck'])
      metrics.set('loops', { state }, loops.filter((loop) => loop.state === state).length);
    for (const { name, ready } of this.#conditions.values())
      metrics.set('ready', { condition: name }, ready ? 1 : 0);
  }
}
