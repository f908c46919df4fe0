/**
 * A histogram in prom-client's registry whose observations may count several times. prom-client's own takes one at a time, at up to a
 * microsecond: too much for one per event.
 */
import type { Histogram as PromHistogram, Registry } from 'prom-client';
import type { Labels } from '../core/ports/telemetry.ts';

interface Series {
  readonly labels: Labels;
  /** Observations of each bucket alone; the last is of those above all bounds. */
  readonly counts: number[];
  sum: number;
}

/** As prom-client's registry asks for it. */
interface Sample {
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds, ascending. */
  readonly buckets: readonly number[];
}

export class Histogram {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly #labelNames: readonly string[];
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  constructor({ name, help, labelNames, buckets }: HistogramOptions, registry: Registry) {
    this.name = name;
    this.help = help;
    this.#labelNames = labelNames;
    this.#bounds = buckets;
    // What the registry wants of a metric is its name and `get`; its types ask for all that prom-client's own can.
    registry.registerMetric(this as unknown as PromHistogram);
  }

  /** @param labels a value for each name @param times a whole number */
  observe(labels: Labels, value: number, times: number): void {
    const key = JSON.stringify(this.#labelNames.map((name) => String(labels[name])));
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { labels: { ...labels }, counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 };
      this.#series.set(key, series);
    }
    const above = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = above < 0 ? this.#bounds.length : above;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + times;
    series.sum += value * times;
  }

  async get() {
    const { name, help, type } = this;
    return { name, help, type, aggregator: 'sum', values: [...this.#series.values()].flatMap((one) => this.#samplesOf(one)) };
  }

  #samplesOf({ labels, counts, sum }: Series): Sample[] {
    let count = 0;
    const buckets = counts.map((own, bucket) => {
      count += own;
      return { metricName: `${this.name}_bucket`, labels: { le: this.#bounds[bucket] ?? '+Inf', ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
