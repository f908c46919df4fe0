/**
 * Metrics of a pipeline by content type, beside those of all types. Producers choose the types, so
 * the label is limited to few values that look like names; `other` stands for the rest, and
 * `unknown` for records that cannot be decoded or whose type is not allowed.
 */
import type { FirstNames } from '../../base/first-names.ts';
import type { Labels, Metrics } from '../../core/ports/telemetry.ts';
import { type Backlog, oldestSeconds } from '../limits/in-flight.ts';
import type { DecisionTally } from './result-counts.ts';
import { labelNames, OTHER } from './result-counts.ts';

const UNKNOWN = 'unknown';

export class TypeMetrics {
  readonly #metrics: Metrics;
  readonly #pipeline: string;
  readonly #maxTypes: number;
  readonly #names: FirstNames;
  readonly #labels = new Map<string, Labels>();

  /** @param maxTypes types beside `other` and `unknown`; 0 turns these metrics off */
  constructor(metrics: Metrics, pipeline: string, maxTypes: number) {
    this.#metrics = metrics;
    this.#pipeline = pipeline;
    this.#maxTypes = maxTypes;
    this.#names = labelNames(maxTypes);
    this.#labelsOf(undefined);
  }

  submitted(type: string, rows: number): void {
    const labels = this.#labelsOf(type);
    if (labels !== undefined) this.#metrics.count('type_rows_submitted_total', labels, rows);
  }

  /** Counts the decisions of a transaction. @param ageSeconds since the oldest event of their batch */
  decided(
    type: string,
    { successes, errors }: DecisionTally,
    ageSeconds: number,
    isLate: boolean,
  ): void {
    const labels = this.#labelsOf(type);
    if (labels === undefined) return;
    const decisions = { SUCCESS: successes, ERROR: errors };
    for (const [status, count] of Object.entries(decisions))
      this.#metrics.count('type_decisions_total', { ...labels, status }, count);
    const all = successes + errors;
    this.#metrics.observe('type_event_to_decision_seconds', labels, ageSeconds, all);
    if (isLate) this.#metrics.count('type_decisions_late_total', labels, all);
  }

  /**
   * @param type undefined if the records end before it is known
   * @param isRefused the type is one too many, and becomes no label: those in use may not have theirs yet
   */
  deadLettered(type: string | undefined, records: number, isRefused = false): void {
    const labels = this.#labelsOf(type, isRefused);
    if (labels !== undefined) this.#metrics.count('type_dead_letters_total', labels, records);
  }

  /** Sets the gauges. @param backlog all records in flight */
  inFlight(backlog: readonly Backlog[]): void {
    const found = Map.groupBy(backlog, ({ type }) => this.#labelsOf(type));
    for (const labels of this.#labels.values()) {
      const own = found.get(labels) ?? [];
      const records = own.reduce((sum, one) => sum + one.records, 0);
      const seconds = oldestSeconds(own.map(({ oldestEventMs }) => oldestEventMs));
      this.#metrics.set('type_items_in_flight', labels, records);
      this.#metrics.set('type_oldest_unsettled_timestamp_seconds', labels, seconds);
    }
  }

  #nameOf(type: string | undefined, isRefused: boolean): string {
    if (type === undefined) return UNKNOWN;
    if (isRefused && !this.#names.has(type)) return OTHER;
    return this.#names.take(type) ?? OTHER;
  }

  /** Returns the labels of a type; undefined if there are none. A new one begins its counters at 0. */
  #labelsOf(type: string | undefined, isRefused = false): Labels | undefined {
    if (this.#maxTypes === 0) return undefined;
    const name = this.#nameOf(type, isRefused);
    const known = this.#labels.get(name);
    if (known !== undefined) return known;
    const labels = { pipeline: this.#pipeline, type: name };
    this.#labels.set(name, labels);
    this.#metrics.count('type_dead_letters_total', labels, 0);
    if (name === UNKNOWN) return labels;
    for (const name of ['type_rows_submitted_total', 'type_decisions_late_total'])
      this.#metrics.count(name, labels, 0);
    for (const status of ['SUCCESS', 'ERROR'])
      this.#metrics.count('type_decisions_total', { ...labels, status }, 0);
    return labels;
  }
}
