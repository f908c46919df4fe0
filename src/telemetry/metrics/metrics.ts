import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Labels, Metrics } from '../../core/ports/telemetry.ts';
import { Histogram } from './histogram.ts';
import { METRICS, type MetricDefinition } from './metric-list.ts';

/** Of every metric of ours; Node's own (`process_*`, `nodejs_*`) keep the names that dashboards know. */
export const METRIC_PREFIX = 'content_review_';

type Kind = MetricDefinition['kind'];

interface Series {
  readonly definition: MetricDefinition;
  readonly metric: Counter | Gauge | Histogram;
}

export interface PromMetricsOptions {
  /** Version of the connector, for `build_info`. */
  readonly version: string;
  /** Node's own metrics too (default true). They cost a GC observer and an event-loop monitor for the life of the process. */
  readonly nodeMetrics?: boolean;
}

/**
 * The core port over prom-client, with a registry of its own. A name, a label or an operation that metric-list.ts does not
 * have is a mistake in the code, so it throws (TypeError) rather than make a series nobody knows.
 */
export class PromMetrics implements Metrics {
  readonly #registry = new Registry();
  readonly #node = new Registry();
  readonly #series = new Map<string, Series>();

  constructor(options: PromMetricsOptions) {
    for (const [name, definition] of Object.entries<MetricDefinition>(METRICS)) {
      this.#series.set(name, { definition, metric: create(name, definition, this.#registry) });
    }
    if (options.nodeMetrics !== false) collectDefaultMetrics({ register: this.#node });
    this.set('build_info', { version: options.version, node: process.version }, 1);
  }

  /** Makes the series of a pipeline that are known beforehand, at 0. */
  startPipeline(pipeline: string): void {
    for (const [name, { kind, labels, startsWith = {} }] of Object.entries<MetricDefinition>(
      METRICS,
    )) {
      if (kind !== 'counter' || !labels.includes('pipeline')) continue;
      const others = labels.filter((label) => label !== 'pipeline');
      for (const values of combinations(others.map((label) => startsWith[label] ?? [])))
        this.count(
          name,
          Object.fromEntries([
            ['pipeline', pipeline],
            ...others.map((label, at) => [label, values[at]]),
          ]),
          0,
        );
    }
  }

  count(name: string, labels: Labels, by = 1): void {
    const metric = this.#find('counter', name, labels);
    if (!(by >= 0 && by < Number.POSITIVE_INFINITY))
      throw new TypeError(`metric ${name}: a counter cannot be increased by ${by}`);
    (metric as Counter).inc(labels, by);
  }

  set(name: string, labels: Labels, value: number): void {
    const metric = this.#find('gauge', name, labels);
    if (!Number.isFinite(value))
      throw new TypeError(`metric ${name}: ${value} is not a finite number`);
    (metric as Gauge).set(labels, value);
  }

  remove(name: string, labels: Labels): void {
    (this.#find('gauge', name, labels) as Gauge).remove(labels);
  }

  observe(name: string, labels: Labels, value: number, times = 1): void {
    const metric = this.#find('histogram', name, labels);
    if (!Number.isFinite(value))
      throw new TypeError(`metric ${name}: ${value} is not a finite number`);
    if (!(Number.isSafeInteger(times) && times > 0))
      throw new TypeError(`metric ${name}: nothing is observed ${times} times`);
    (metric as Histogram).observe(labels, value, times);
  }

  /** Content-Type of `render`: the Prometheus text format. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All series as Prometheus reads them. */
  async render(): Promise<string> {
    const ours = [...this.#series].map(([name, { metric }]) =>
      metric instanceof Histogram
        ? metric.render()
        : this.#registry.getSingleMetricAsString(METRIC_PREFIX + name),
    );
    const nodes = this.#node
      .getMetricsAsArray()
      .map(({ name }) => this.#node.getSingleMetricAsString(name));
    return `${(await Promise.all([...ours, ...nodes])).join('\n\n')}\n`;
  }

  #find(kind: Kind, name: string, labels: Labels): Series['metric'] {
    const series = this.#series.get(name);
    if (series === undefined) throw new TypeError(`metric ${name} is not in metric-list.ts`);
    const { definition } = series;
    if (definition.kind !== kind)
      throw new TypeError(`metric ${name} is a ${definition.kind}, not a ${kind}`);
    let given = 0;
    for (const label in labels) {
      given++;
      if (!(definition.labels as readonly string[]).includes(label))
        throw new TypeError(`metric ${name} has no label ${label}`);
    }
    if (given !== definition.labels.length) {
      throw new TypeError(
        `metric ${name} needs the labels {${definition.labels.join(', ')}}, got {${Object.keys(labels).join(', ')}}`,
      );
    }
    return series.metric;
  }
}

/** One value of each list, in every way; none when a list is empty. */
function combinations(lists: readonly (readonly string[])[]): string[][] {
  return lists.reduce<string[][]>(
    (some, list) => some.flatMap((one) => list.map((value) => [...one, value])),
    [[]],
  );
}

function create(name: string, definition: MetricDefinition, registry: Registry): Series['metric'] {
  const common = {
    name: METRIC_PREFIX + name,
    help: definition.help,
    labelNames: [...definition.labels],
    registers: [registry],
  };
  if (definition.kind === 'counter') return new Counter(common);
  if (definition.kind === 'gauge') return new Gauge(common);
  return new Histogram(common.name, common.help, definition.buckets ?? []);
}
