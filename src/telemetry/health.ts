/**
 * Process health (I8): overdue Kafka transactions decide liveness, and conditions decide readiness.
 *
 * Waits for the broker or the service never affect liveness, because a restart would not help. A
 * transaction that gets no response for far longer than its own timeouts blocks its shard
 * permanently, and only a restart ends it.
 */
import type { HealthReporter, Metrics } from '../core/ports/telemetry.ts';

interface ConditionReport {
  readonly name: string;
  readonly ready: boolean;
  readonly reason?: string;
}

interface PendingTransaction {
  readonly shard: string;
  readonly sinceMs: number;
  readonly atMostMs: number;
}

export class Health implements HealthReporter {
  readonly #now: () => number;
  readonly #transactions = new Set<PendingTransaction>();
  readonly #conditions = new Map<string, ConditionReport>();

  /** @param now returns the time in ms (monotonic clock) */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  transaction(shard: string, atMostMs: number): () => void {
    const pending = { shard, sinceMs: this.#now(), atMostMs };
    this.#transactions.add(pending);
    return () => this.#transactions.delete(pending);
  }

  ready(name: string): void {
    this.#conditions.set(name, { name, ready: true });
  }

  /** @param reason states what operators should check; never contains secrets (I6) */
  notReady(name: string, reason: string): void {
    this.#conditions.set(name, { name, ready: false, reason });
  }

  /** Returns the shards whose transaction is overdue, with its duration so far in seconds. */
  liveness() {
    const now = this.#now();
    const stuck = [...this.#transactions]
      .filter(({ sinceMs, atMostMs }) => now - sinceMs > atMostMs)
      .map(({ shard, sinceMs }) => ({ shard, seconds: Math.round((now - sinceMs) / 1_000) }));
    return { ok: stuck.length === 0, stuck };
  }

  /** Ready once at least one condition has been reported and all of them are met. */
  readiness() {
    const conditions = [...this.#conditions.values()];
    return { ok: conditions.length > 0 && conditions.every(({ ready }) => ready), conditions };
  }

  /** Sets the gauges `transactions_stuck` and `ready`. Must be called before each scrape. */
  publish(metrics: Metrics): void {
    metrics.set('transactions_stuck', {}, this.liveness().stuck.length);
    for (const { name, ready } of this.#conditions.values())
      metrics.set('ready', { condition: name }, ready ? 1 : 0);
  }
}
