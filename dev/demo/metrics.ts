/** Metrics of the connector, scraped from /metrics as Prometheus does. */

const TIMEOUT_MS = 2_000;
const SERIES = /^content_review_(\w+)(\{.*\})? (\S+)$/;

export class Metrics {
  readonly #series: readonly {
    readonly name: string;
    readonly labels: string;
    readonly value: number;
  }[];

  constructor(text = '') {
    this.#series = text.split('\n').flatMap((line) => {
      const [, name, labels = '', value] = SERIES.exec(line) ?? [];
      return name === undefined ? [] : { name, labels, value: Number(value) };
    });
  }

  /** Sum of a metric's series (its name without the prefix); with `label`, as in `stage="settle"`, of those that have it. */
  sum(wanted: string, label = ''): number {
    return this.#series.reduce(
      (sum, { name, labels, value }) =>
        name === wanted && labels.includes(label) ? sum + value : sum,
      0,
    );
  }
}

/** @returns undefined when there is no answer: the connector starts, stops or is busy. */
export async function readMetrics(url: string): Promise<Metrics | undefined> {
  try {
    const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return new Metrics(await response.text());
  } catch {
    return undefined;
  }
}
