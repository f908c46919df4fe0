/**
 * Balance of a pipeline in this process: every record that came in is accounted for.
 *
 *   consumed + recovered = decided + dead-lettered + skipped + released + in flight
 *
 * `recovered` are records of live jobs that a claim found, `released` records that were in flight
 * when a shard was given up.
 */
import type { Metrics } from '../../core/ports/telemetry.ts';
import type { DecisionTally, ResultCounts } from './result-counts.ts';

export class Ledger {
  readonly #metrics: Metrics;
  readonly #labels: { readonly pipeline: string };
  readonly #counts: ResultCounts | undefined;
  #open = 0;

  constructor(metrics: Metrics, pipeline: string, counts?: ResultCounts) {
    this.#metrics = metrics;
    this.#labels = { pipeline };
    this.#counts = counts;
  }

  /** Records that came in and have neither ended nor been released: must equal those in flight. */
  get open(): number {
    return this.#open;
  }

  consumed(records: number): void {
    this.#book('events_consumed_total', {}, records, 1);
  }

  recovered(records: number): void {
    this.#book('items_recovered_total', {}, records, 1);
  }

  /** Books published decisions. */
  published(tally: DecisionTally): void {
    const { successes, errors } = tally;
    this.#book('decisions_total', { status: 'SUCCESS' }, successes, -1);
    this.#book('decisions_total', { status: 'ERROR' }, errors, -1);
    this.#counts?.count(tally);
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
