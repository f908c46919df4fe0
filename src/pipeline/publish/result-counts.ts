/**
 * How many decisions have which result. The service decides what its results are called, so the label is held to few values that
 * look like names: a service that puts something else there can neither fill the metrics nor have content shown in them (I6).
 */
import type { Metrics } from '../../core/ports/telemetry.ts';

/** Takes the place of results beyond the first, and of what does not look like a name. */
export const OTHER_RESULT = 'other';

const NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.:/-]{0,63}$/u;

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

  /** Counts decisions that were published. @param results how many there are of each result */
  count(results: ReadonlyMap<string, number>): void {
    if (this.#maxResults === 0) return;
    const counts = new Map<string, number>();
    for (const [result, decided] of results) {
      const label = this.#labelOf(result);
      counts.set(label, (counts.get(label) ?? 0) + decided);
    }
    for (const [result, decided] of counts)
      this.#metrics.count('decision_results_total', { pipeline: this.#pipeline, result }, decided);
  }

  #labelOf(result: string): string {
    if (this.#known.has(result)) return result;
    if (this.#known.size >= this.#maxResults || !NAME.test(result)) return OTHER_RESULT;
    this.#known.add(result);
    return result;
  }
}
