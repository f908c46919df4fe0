/** Counts of decisions by status and result, for metrics. */
import type { Metrics } from '../../core/ports/telemetry.ts';

/** Decisions of one transaction, by status and by result. */
export class DecisionTally {
  successes = 0;
  errors = 0;
  /** Decisions per result; decisions without a result are not among them. */
  readonly results = new Map<string, number>();

  add(isError: boolean, result: string | undefined): void {
    if (isError) this.errors++;
    else this.successes++;
    if (result !== undefined) this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }

  clear(): void {
    this.successes = 0;
    this.errors = 0;
    this.results.clear();
  }
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.:/-]{0,63}$/u;

/**
 * Counter of decisions by result. The service chooses the names of its results, so the label is
 * limited to few values that look like names, and `other` stands for the rest: nothing that a
 * service sends can flood the metrics or show content in them (I6).
 */
export class ResultCounts {
  readonly #metrics: Metrics;
  readonly #pipeline: string;
  readonly #maxResults: number;
  readonly #known = new Set<string>();

  /** @param maxResults series beside `other`; 0 counts nothing */
  constructor(metrics: Metrics, pipeline: string, maxResults: number) {
    this.#metrics = metrics;
    this.#pipeline = pipeline;
    this.#maxResults = maxResults;
  }

  /** Counts published decisions. @param results decisions per result */
  count(results: ReadonlyMap<string, number>): void {
    if (this.#maxResults === 0) return;
    for (const [result, decided] of results) {
      const labels = { pipeline: this.#pipeline, result: this.#labelOf(result) };
      this.#metrics.count('decision_results_total', labels, decided);
    }
  }

  #labelOf(result: string): string {
    if (this.#known.has(result)) return result;
    if (this.#known.size >= this.#maxResults || !NAME.test(result)) return 'other';
    this.#known.add(result);
    return result;
  }
}
