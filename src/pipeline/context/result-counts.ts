/** Counts of decisions by status, result and expected result, for metrics. */
import { Counts } from '../../base/counts.ts';
import { FirstNames } from '../../base/first-names.ts';
import { parseJson } from '../../base/json/parse-json.ts';
import type { RowOutcome } from '../../core/bytes/result-row.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';

/** Decisions of one transaction, by outcome. */
export class DecisionTally {
  readonly #decisions = new Map<RowOutcome, number>();

  /** Counts a decision. The same object counts as the same outcome at no further cost. */
  add(outcome: RowOutcome): void {
    this.#decisions.set(outcome, (this.#decisions.get(outcome) ?? 0) + 1);
  }

  get successes(): number {
    return this.#sum(({ isError }) => !isError);
  }

  get errors(): number {
    return this.#sum(({ isError }) => isError);
  }

  [Symbol.iterator](): IterableIterator<[outcome: RowOutcome, decisions: number]> {
    return this.#decisions.entries();
  }

  clear(): void {
    this.#decisions.clear();
  }

  #sum(of: (outcome: RowOutcome) => boolean): number {
    let sum = 0;
    for (const [outcome, decisions] of this.#decisions) if (of(outcome)) sum += decisions;
    return sum;
  }
}

/**
 * Counters of decisions by result, and by expected result. The service chooses the names of its
 * results, so the label is limited to few values that look like names, and `other` stands for the
 * rest: nothing that a service sends can flood the metrics or show content in them (I6). Producers
 * choose the expected results, of which only names of results that the service has given are shown.
 */
export class ResultCounts {
  readonly #metrics: Metrics;
  readonly #pipeline: string;
  readonly #maxResults: number;
  readonly #names: FirstNames;

  /** @param maxResults results beside `other`; 0 counts nothing */
  constructor(metrics: Metrics, pipeline: string, maxResults: number) {
    this.#metrics = metrics;
    this.#pipeline = pipeline;
    this.#maxResults = maxResults;
    this.#names = labelNames(maxResults);
  }

  /** Counts published decisions. */
  count(tally: Iterable<readonly [outcome: RowOutcome, decisions: number]>): void {
    if (this.#maxResults === 0) return;
    const pipeline = this.#pipeline;
    const results = new Counts();
    const evaluated = [];
    for (const [{ isError, result: text, expected }, decisions] of tally) {
      if (text === undefined) continue;
      const result = this.#names.take(text) ?? OTHER;
      results.add(result, decisions);
      if (isError || expected === undefined || expected === '') continue;
      evaluated.push({ result, expected, agrees: `${expected === text}`, decisions });
    }
    for (const [result, decisions] of results)
      this.#metrics.count('decision_results_total', { pipeline, result }, decisions);
    // Once all results are known, in whatever order they came.
    const comparisons = new Counts();
    for (const { result, expected: text, agrees, decisions } of evaluated) {
      const expected = this.#names.has(text) ? text : OTHER;
      comparisons.add(JSON.stringify({ pipeline, result, expected, agrees }), decisions);
    }
    for (const [json, decisions] of comparisons) {
      const labels = parseJson(json) as Record<string, string>;
      this.#metrics.count('decisions_evaluated_total', labels, decisions);
    }
  }
}

const NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.:/-]{0,63}$/u;

/** Stands for all other values. */
export const OTHER = 'other';

/** Names of results or types that may be labels: few, and of a form that shows no content (I6). */
export const labelNames = (max: number): FirstNames =>
  new FirstNames(max, (text) => NAME.test(text));
