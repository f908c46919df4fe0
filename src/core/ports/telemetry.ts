/**
 * Metrics, logs and health of the engine. `src/telemetry` implements them with prom-client and
 * pino.
 */

export type Labels = Readonly<Record<string, string | number>>;

export interface Metrics {
  /** Adds to a counter. `name` has no prefix, as in src/telemetry/metric-list.ts. */
  count(name: string, labels: Labels, by?: number): void;
  /** Sets a gauge, or removes its series if `value` is undefined. */
  set(name: string, labels: Labels, value: number | undefined): void;
  /** Adds an observation, `times` times (default 1), to a histogram. `value` is in base units: seconds, bytes. */
  observe(name: string, labels: Labels, value: number, times?: number): void;
}

/** Logger of the engine. Fields never contain content, keys or signed addresses (I6). */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** Liveness (I8), and conditions for readiness. */
export interface HealthReporter {
  /**
   * Reports the start of a Kafka transaction. If it takes longer than `atMostMs`, the process is
   * not live. Returns a function to call when the transaction ends.
   */
  transaction(shard: string, atMostMs: number): () => void;
  /** Reports that the condition `name` is met. */
  ready(name: string): void;
  /** Reports that the condition is not met. The reason states what to check. */
  notReady(name: string, reason: string): void;
}
