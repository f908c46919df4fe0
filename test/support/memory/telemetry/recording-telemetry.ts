/** Telemetry that records calls for assertions. */

import type {
  HealthReporter,
  Labels,
  Logger,
  Metrics,
} from '../../../../src/core/ports/telemetry.ts';

/** `name{a="1",b="2"}`, labels sorted by name. */
export function series(name: string, labels: Labels = {}): string {
  const names = Object.keys(labels);
  if (names.length === 0) return name;
  if (names.length > 1) names.sort();
  let pairs = '';
  for (const label of names)
    pairs += `${pairs === '' ? '' : ','}${label}=${JSON.stringify(String(labels[label]))}`;
  return `${name}{${pairs}}`;
}

export class RecordingMetrics implements Metrics {
  readonly counters = new Map<string, number>();
  readonly gauges = new Map<string, number>();
  readonly observations = new Map<string, number[]>();
  readonly #kinds = new Map<string, string>();

  count(name: string, labels: Labels, by = 1): void {
    if (!(by >= 0)) throw new RangeError(`counter ${name} cannot increase by ${by}`);
    const key = this.#as('counter', name, labels);
    this.counters.set(key, (this.counters.get(key) ?? 0) + by);
  }

  set(name: string, labels: Labels, value: number | undefined): void {
    const key = this.#as('gauge', name, labels);
    if (value === undefined) this.gauges.delete(key);
    else this.gauges.set(key, value);
  }

  observe(name: string, labels: Labels, value: number, times = 1): void {
    const key = this.#as('histogram', name, labels);
    const seen = this.observations.get(key) ?? [];
    for (let n = 0; n < times; n++) seen.push(value);
    this.observations.set(key, seen);
  }

  /** Sum of a counter over all series whose labels include `labels`. 0 if it was never incremented. */
  counter(name: string, labels: Labels = {}): number {
    let sum = 0;
    for (const [key, value] of this.counters) if (matches(key, name, labels)) sum += value;
    return sum;
  }

  /** Gauge with exactly these labels; undefined if never set, or removed. */
  gauge(name: string, labels: Labels = {}): number | undefined {
    return this.gauges.get(series(name, labels));
  }

  /** Checks that a name always has the same kind of metric, because prom-client would throw otherwise. */
  #as(kind: string, name: string, labels: Labels): string {
    const known = this.#kinds.get(name);
    if (known !== undefined && known !== kind)
      throw new Error(`metric ${name} is used as ${kind} and as ${known}`);
    this.#kinds.set(name, kind);
    return series(name, labels);
  }
}

function matches(key: string, name: string, labels: Labels): boolean {
  const brace = key.indexOf('{');
  if ((brace < 0 ? key : key.slice(0, brace)) !== name) return false;
  const pairs = `,${key.slice(brace + 1, -1)},`;
  return Object.entries(labels).every(([label, value]) =>
    pairs.includes(`,${label}=${JSON.stringify(String(value))},`),
  );
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export class RecordingLogger implements Logger {
  /** Shared with all child loggers. */
  readonly lines: LogLine[];
  readonly #bound: object;

  constructor(lines: LogLine[] = [], bound: object = {}) {
    this.lines = lines;
    this.#bound = bound;
  }

  debug(fields: object, message: string): void {
    this.#write('debug', fields, message);
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message);
  }

  child(fields: object): RecordingLogger {
    return new RecordingLogger(this.lines, { ...this.#bound, ...fields });
  }

  /** All log lines as text. Tests of I6 search it for content and secrets. */
  text(): string {
    return this.lines
      .map((line) => `${line.level} ${line.message} ${JSON.stringify(line.fields, errorsAsText)}`)
      .join('\n');
  }

  #write(level: LogLine['level'], fields: object, message: string): void {
    this.lines.push({ level, fields: { ...this.#bound, ...fields }, message });
  }
}

/** Current state of transactions and conditions. */
export class RecordingHealth implements HealthReporter {
  /** Names of the shards that have a pending transaction. */
  readonly transactions = new Set<string>();
  /** Condition → reason why it does not hold, or undefined if it holds. */
  readonly conditions = new Map<string, string | undefined>();

  transaction(shard: string): () => void {
    this.transactions.add(shard);
    return () => this.transactions.delete(shard);
  }

  ready(name: string): void {
    this.conditions.set(name, undefined);
  }

  notReady(name: string, reason: string): void {
    this.conditions.set(name, reason);
  }

  /** Reasons why the instance is not ready. */
  get complaints(): string[] {
    return [...this.conditions].flatMap(([name, reason]) =>
      reason === undefined ? [] : [`${name}: ${reason}`],
    );
  }
}

/** Replacer for JSON.stringify. Errors have no enumerable fields, so JSON would omit them and hide a leak. */
function errorsAsText(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  if (!(value instanceof Error)) return value;
  return {
    ...value,
    name: value.name,
    message: value.message,
    stack: value.stack,
    cause: value.cause,
  };
}
