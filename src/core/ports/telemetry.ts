/** What the engine tells the outside: numbers and log lines. `src/telemetry` implements it with prom-client and pino. */
export type Labels = Readonly<Record<string, string | number>>;

export interface Metrics {
  /** Adds to a counter. `name` without prefix, as in src/telemetry/metric-list.ts. */
  count(name: string, labels: Labels, by?: number): void;
  /** Sets a gauge. */
  set(name: string, labels: Labels, value: number): void;
  /** Takes a gauge's series away (a shard that is no longer ours). */
  remove(name: string, labels: Labels): void;
  /** Observes into a histogram, in base units (seconds, bytes). */
  observe(name: string, labels: Labels, value: number): void;
}

/** Fields never hold content, keys or signed addresses (I6). */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Logger;
}
