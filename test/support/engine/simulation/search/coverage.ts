/** Counts of events in histories. A simulation proves nothing about an event that never happened in it. */
import type { World } from '../../world.ts';

export type Coverage = Readonly<Record<string, number>>;

/** Counters of the connector for unusual events. A label, if given, splits the count by its values. */
const COUNTERS: readonly (readonly [metric: string, label?: string])[] = [
  ['transactions_total', 'outcome'],
  ['claims_total', 'outcome'],
  ['rebalances_total'],
  ['jobs_failed_total', 'reason'],
  ['result_anomalies_total', 'kind'],
  ['decisions_total', 'status'],
  ['dead_lettered_total', 'reason'],
  ['items_resubmitted_total'],
  ['items_recovered_total'],
  ['unread_records_lost_total'],
  ['reset_skipped_records_total'],
];

export function coverageOf({ instances }: World): Record<string, number> {
  const coverage: Record<string, number> = {};
  for (const [metric, label] of COUNTERS) {
    for (const { metrics } of instances) {
      for (const [series, count] of metrics.counters) {
        if (!series.startsWith(`${metric}{`)) continue;
        const value =
          label === undefined ? undefined : new RegExp(`[{,]${label}="([^"]*)"`).exec(series)?.[1];
        const name = value === undefined ? metric : `${metric} ${value}`;
        coverage[name] = (coverage[name] ?? 0) + count;
      }
    }
  }
  return coverage;
}

export function addTo(sum: Record<string, number>, more: Coverage): void {
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + count;
}
