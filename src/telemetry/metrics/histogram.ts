/**
 * Histogram that observes a value many times at the price of one: prom-client's own takes about a microsecond for each, and a chunk of decisions
 * has thousands. The exposition is the same (test/property/telemetry).
 */
import type { Labels } from '../../core/ports/telemetry.ts';

interface Series {
  readonly labels: Labels;
  /** Observations by bucket; the last place is for those beyond every bound. */
  readonly counts: number[];
  sum: number;
  count: number;
}

export class Histogram {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Series>();

  /** @param bounds upper bounds of the buckets, ascending */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  /** @param labels the same names each time; their order at the first observation is that of the exposition */
  observe(labels: Labels, value: number, times: number): void {
    const series = this.#of(labels);
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = found === -1 ? this.#bounds.length : found;
    series.counts[bucket] = (series.counts[bucket] as number) + times;
    series.sum += value * times;
    series.count += times;
  }

  /** The metric in the Prometheus text format, without a line end behind it. */
  render(): string {
    const lines = [`# HELP ${this.#name} ${escaped(this.#help)}`, `# TYPE ${this.#name} histogram`];
    for (const { labels, counts, sum, count } of this.#series.values()) {
      const shared = Object.entries(labels).map(
        ([name, value]) => `${name}="${escaped(String(value)).replaceAll('"', '\\"')}"`,
      );
      let below = 0;
      for (const [at, bound] of [...this.#bounds, '+Inf'].entries()) {
        below += counts[at] as number;
        lines.push(`${this.#name}_bucket{${[`le="${bound}"`, ...shared].join(',')}} ${below}`);
      }
      const where = shared.length === 0 ? '' : `{${shared.join(',')}}`;
      lines.push(`${this.#name}_sum${where} ${sum}`, `${this.#name}_count${where} ${count}`);
    }
    return lines.join('\n');
  }

  #of(labels: Labels): Series {
    let key = '';
    for (const name of Object.keys(labels).sort()) key += `${labels[name]}\0`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = {
        labels: { ...labels },
        counts: new Array<number>(this.#bounds.length + 1).fill(0),
        sum: 0,
        count: 0,
      };
      this.#series.set(key, series);
    }
    return series;
  }
}

/** As the format requires it of help texts, and of label values beside their quotes. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
