/**
 * Metrics, logs and health of the engine. `src/telemetry` implements them with prom-client and
 * pino.
 */

export type Labels = Readonly<Record<string, string | number>>;

export interface Metrics {
  /** Adds to a counter. `name` without prefix, as in src/telemetry/metric-list.ts. */
  count(name: string, labels: Labels, by?: number): void;
  /** Sets a gauge; without a value its series is removed. */
  set(name: string, labels: Labels, value: number | undefined): void;
  /** Observes into a histogram, in base units (seconds, bytes); `times` as often, 1 if not given. */
  observe(name: string, labels: Labels, value: number, times?: number): void;
}

/** Fields never hold content, keys or signed addresses (I6). */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** Health of loops (I8) and conditions of readiness. */
export interface HealthReporter {
  /** The loop `name` made progress. The first call makes it known. */
  beat(name: string): void;
  /** The loop waits for something outside itself; with `atMostMs` no longer than that. */
  waiting(name: string, reason: string, atMostMs?: number): void;
  /** The loop has ended as it should. */
  ended(name: string): void;
  /** The condition `name` holds. */
  ready(name: string): void;
  /** It does not hold; the reason says what to look at. */
  notReady(name: string, reason: string): void;
}
