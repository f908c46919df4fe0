/**
 * The balance of a pipeline in this process: every record that came in must be accounted for (DESIGN 'The promise').
 *
 *   consumed + recovered = decided + dead-lettered + skipped + released + in flight
 *
 * `recovered` are records in live jobs that a claim found, `released` those that were in flight when a shard was given up.
 */
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { DecisionTally } from './decision-tally.ts';
import type { ResultCounts } from './result-counts.ts';

export class Ledger {
  readonly #metrics: Metrics;
  readonly #labels: { readonly pipeline: string };
  readonly #mix: ResultCounts | undefined;
  #open = 0;

  constructor(metrics: Metrics, pipeline: string, mix?: ResultCounts) {
    this.#metrics = metrics;
    this.#labels = { pipeline };
    this.#mix = mix;
  }

  /** Records that came in and have neither ended nor been given up: must equal what is in flight. */
  get open(): number {
    return this.#open;
  }

  consumed(records: number): void {
    this.#book('events_consumed_total', {}, records, 1);
  }

  recovered(records: number): void {
    this.#book('items_recovered_total', {}, records, 1);
  }

  /** Decisions that were published, by their status and their result. */
  published({ successes, errors, results }: DecisionTally): void {
    this.#book('decisions_total', { status: 'SUCCESS' }, successes, -1);
    this.#book('decisions_total', { status: 'ERROR' }, errors, -1);
    this.#mix?.count(results);
  }

  deadLettered(reason: string, records: number): void {
    this.#book('dead_lettered_total', { reason }, records, -1);
  }

  deadLetters(letters: readonly { readonly reason: string }[]): void {
    for (const [reason, { length }] of Map.groupBy(letters, ({ reason }) => reason))
      this.deadLettered(reason, length);
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
