import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  type OpenMetricsContentType,
  Registry,
} from 'prom-client';
import type { TraceParent } from '../../packages/client/src/base/tracing.ts';
import type { Labels, Metrics } from '../core/ports/telemetry.ts';
import { METRICS, type MetricDefinition, type MetricName } from './metric-list.ts';

/** Prefix of the connector's metrics; Node's own (`process_*`, `nodejs_*`) keep their names. */
export const METRIC_PREFIX = 'content_review_';

type PromMetric = Counter | Gauge | Histogram;

interface PromMetricsOptions {
  /** Version of the connector, for `build_info`. */
  readonly version: string;
  /**
   * Includes Node's own metrics (default true). They keep a GC observer and an
   * event-loop monitor running for the life of the process.
   */
  readonly nodeMetrics?: boolean;
}

/** Value of one series. */
interface SeriesValue {
  readonly labels: Labels;
  readonly value: number;
}

/**
 * Metrics port over prom-client, with registries of its own, one for each format. A name, a kind, a label or a number
 * that does not match metric-list.ts is a bug, so it throws a TypeError instead of making a series.
 */
export class PromMetrics implements Metrics {
  readonly #text = new Registry();
  readonly #openMetrics = new Registry<OpenMetricsContentType>();
  readonly #metrics = new Map<string, readonly [MetricDefinition, PromMetric]>();

  constructor({ version, nodeMetrics = true }: PromMetricsOptions) {
    for (const [name, definition] of Object.entries<MetricDefinition>(METRICS))
      this.#metrics.set(name, [definition, create(name, definition)]);
    for (const [, metric] of this.#metrics.values()) this.#text.registerMetric(metric);
    if (nodeMetrics) collectDefaultMetrics({ register: this.#text });
    this.#openMetrics.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    // Rendering OpenMetrics renames counters in place (prom-client's registry.js), so that the names
    // of the other format need objects of their own over the same values.
    for (const metric of this.#text.getMetricsAsArray())
      this.#openMetrics.registerMetric(Object.create(metric) as Metric);
    this.set('build_info', { version, node: process.version }, 1);
  }

  /** Creates the counters of a pipeline whose label values are known beforehand, at 0. */
  startPipeline(pipeline: string): void {
    for (const [name, [{ kind, labels, startsWith = {} }]] of this.#metrics) {
      if (kind !== 'counter' || !labels.includes('pipeline')) continue;
      let series: Labels[] = [{}];
      for (const label of labels) {
        const values = label === 'pipeline' ? [pipeline] : (startsWith[label] ?? []);
        series = series.flatMap((one) => values.map((value) => ({ ...one, [label]: value })));
      }
      for (const one of series) this.count(name, one, 0);
    }
  }

  count(name: string, labels: Labels, by = 1): void {
    const counter = this.#find(Counter, name, labels);
    if (!(by >= 0 && by < Infinity))
      throw new TypeError(`metric ${name}: a counter cannot be increased by ${by}`);
    counter.inc(labels, by);
  }

  set(name: string, labels: Labels, value: number | undefined): void {
    const gauge = this.#find(Gauge, name, labels);
    if (value === undefined) {
      gauge.remove(labels);
      return;
    }
    mustBeFinite(name, value);
    gauge.set(labels, value);
  }

  observe(name: string, labels: Labels, value: number, times = 1, span?: TraceParent): void {
    const histogram = this.#find(Histogram, name, labels);
    mustBeFinite(name, value);
    if (!(Number.isSafeInteger(times) && times > 0))
      throw new TypeError(`metric ${name}: nothing is observed ${times} times`);
    if (hasExemplars(name)) {
      const { traceId: trace_id, spanId: span_id } = span ?? {};
      const isSampled = ((span?.flags ?? 0) & SAMPLED) !== 0;
      const exemplarLabels = isSampled ? { trace_id, span_id } : {};
      histogram.observe({ labels, value, exemplarLabels });
    } else histogram.observe(labels, value);
    if (times > 1) repeat(histogram as Histogram & HistogramState, labels, value, times - 1);
  }

  /** Returns the current values of a counter or gauge, one per series. */
  async values(name: MetricName): Promise<readonly SeriesValue[]> {
    const metric = this.#metrics.get(name)?.[1];
    const { values = [] } = (await metric?.get()) ?? {};
    return values.map(({ labels, value }) => ({ labels: labels as Labels, value }));
  }

  /**
   * Renders all series: in OpenMetrics, which has the exemplars, if a scraper prefers it, otherwise
   * in the Prometheus text format.
   * @param accept header of the request
   */
  async render(accept = ''): Promise<string> {
    return this.#registryFor(accept).metrics();
  }

  /** Content-Type of `render`. */
  contentType(accept = ''): string {
    return this.#registryFor(accept).contentType;
  }

  #registryFor(accept: string) {
    return prefersOpenMetrics(accept) ? this.#openMetrics : this.#text;
  }

  #find<T extends PromMetric>(
    type: new (...parameters: never[]) => T,
    name: string,
    labels: Labels,
  ): T {
    const [definition, metric] = this.#metrics.get(name) ?? [];
    if (definition === undefined) throw new TypeError(`metric ${name} is not in metric-list.ts`);
    if (!(metric instanceof type))
      throw new TypeError(
        `metric ${name} is a ${definition.kind}, not a ${type.name.toLowerCase()}`,
      );
    const given = Object.keys(labels);
    if (
      given.length !== definition.labels.length ||
      !definition.labels.every((label) => label in labels)
    )
      throw new TypeError(
        `metric ${name} needs the labels {${definition.labels.join(', ')}}, got {${given.join(', ')}}`,
      );
    return metric;
  }
}

/** State of prom-client's histogram. */
interface HistogramState {
  readonly upperBounds: readonly number[];
  readonly hashMap: Readonly<Record<string, HistogramSeries>>;
}

interface HistogramSeries {
  readonly labels: Labels;
  readonly bucketValues: Record<number, number>;
  sum: number;
  count: number;
}

/**
 * Repeats an observation in one step: thousands of calls of `observe`, one per decision, took 2 % of
 * the processor time.
 */
function repeat(
  { hashMap, upperBounds }: HistogramState,
  labels: Labels,
  value: number,
  times: number,
): void {
  const series = Object.values(hashMap).find((one) =>
    Object.entries(labels).every(([name, given]) => String(one.labels[name]) === String(given)),
  ) as HistogramSeries;
  const bound = upperBounds.find((one) => value <= one);
  if (bound !== undefined) series.bucketValues[bound] = (series.bucketValues[bound] ?? 0) + times;
  series.sum += value * times;
  series.count += times;
}

function mustBeFinite(name: string, value: number): void {
  if (!Number.isFinite(value))
    throw new TypeError(`metric ${name}: ${value} is not a finite number`);
}

/** Flag of W3C trace contexts. */
const SAMPLED = 1;
const hasExemplars = (name: string): boolean =>
  (METRICS as Record<string, MetricDefinition>)[name]?.exemplars === true;

function create(
  name: string,
  { kind, help, labels, buckets = [], exemplars = false }: MetricDefinition,
): PromMetric {
  const common = {
    name: METRIC_PREFIX + name,
    help,
    labelNames: [...labels],
    registers: [],
  };
  if (kind === 'counter') return new Counter(common);
  if (kind === 'gauge') return new Gauge(common);
  return new Histogram({ ...common, buckets: [...buckets], enableExemplars: exemplars });
}

/** Choice of the exposition format by the Accept header of a scraper. */
const MAX_CHARACTERS = 1_000;

/** Returns true if OpenMetrics is named with a higher quality than the text format. */
function prefersOpenMetrics(accept: string): boolean {
  const quality = (type: string): number =>
    Math.max(
      0,
      ...accept
        .slice(0, MAX_CHARACTERS)
        .toLowerCase()
        .split(',')
        .map((range) => range.split(';').map((part) => part.trim()))
        .filter(([named]) => named === type)
        .map((parts) => Number(parts.find((part) => part.startsWith('q='))?.slice(2) ?? 1) || 0),
    );
  return quality('application/openmetrics-text') > quality('text/plain');
}
