/**
 * Balance of a pipeline in this process. Every record that it consumed or recovered is in one term:
 *
 *   consumed + recovered = decided + dead-lettered + skipped + released + in flight
 *
 * `recovered` counts records of live jobs that claims have found. `released` counts records that
 * were in flight when a shard was given up.
 */
import { FirstNames } from '../../../packages/client/src/base/counts.ts';
import type { Metrics } from '../../core/ports/telemetry.ts';

/** Maximum number of results that have their own time series. */
const MAX_RESULTS = 20;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.:/-]{0,63}$/u;

export class Ledger {
  readonly #metrics: Metrics;
  readonly #labels: { readonly pipeline: string };
  /**
   * Results that become labels. The service chooses result names, so only the first few that look
   * like names are used. No response can therefore flood the metrics or put content into them (I6).
   */
  readonly #results = new FirstNames(MAX_RESULTS, (text) => NAME.test(text));
  #open = 0;

  constructor(metrics: Metrics, pipeline: string) {
    this.#metrics = metrics;
    this.#labels = { pipeline };
  }

  /** Number of records in flight: consumed or recovered, and neither settled nor released. */
  get open(): number {
    return this.#open;
  }

  consumed(records: number): void {
    this.#book('events_consumed_total', {}, records, 1);
  }

  recovered(records: number): void {
    this.#book('items_recovered_total', {}, records, 1);
  }

  /** @param errors number of decisions with status ERROR @param results number of decisions by result */
  published(decisions: number, errors: number, results: ReadonlyMap<string, number>): void {
    this.#book('decisions_total', { status: 'SUCCESS' }, decisions - errors, -1);
    this.#book('decisions_total', { status: 'ERROR' }, errors, -1);
    for (const [text, times] of results) {
      const labels = { ...this.#labels, result: this.#results.take(text) ?? 'other' };
      this.#metrics.count('decision_results_total', labels, times);
    }
  }

  deadLettered(letters: readonly { readonly reason: string }[]): void {
    for (const [reason, { length }] of Map.groupBy(letters, ({ reason }) => reason))
      this.#book('dead_lettered_total', { reason }, length, -1);
  }

  skipped(reason: string, records: number): void {
    this.#book('events_skipped_total', { reason }, records, -1);
  }

  released(records: number): void {
    this.#book('items_released_total', {}, records, -1);
  }

  #book(metric: string, labels: Record<string, string>, records: number, sign: 1 | -1): void {
    if (records === 0) return;
    this.#open += sign * records;
    this.#metrics.count(metric, { ...this.#labels, ...labels }, records);
  }
}
