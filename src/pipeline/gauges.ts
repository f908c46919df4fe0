/** Gauges of a pipeline, from what its workers report. */
import type { Labels, Metrics } from '../core/ports/telemetry.ts';
import type { WorkerReport } from './shard/worker.ts';

/** @param open records that came in and have neither ended nor been given up (Ledger) */
export function publishGauges(
  metrics: Metrics,
  labels: Labels,
  reports: readonly WorkerReport[],
  open: number,
): void {
  const sum = (of: (report: WorkerReport) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  /** Infinity stands for none; without any the series goes away. */
  const oldest = (name: string, of: Labels, timesMs: readonly number[]) => {
    const oldestMs = Math.min(...timesMs);
    if (oldestMs === Number.POSITIVE_INFINITY) metrics.remove(name, of);
    else metrics.set(name, of, oldestMs / 1000);
  };
  const inFlight = sum((report) => report.inFlight);
  metrics.set('items_in_flight', labels, inFlight);
  metrics.set('balance_items', labels, open - inFlight);
  const buffered = sum((report) => report.buffered);
  metrics.set('items_buffered', labels, buffered);
  const lag = sum((report) => report.lag);
  metrics.set('consumer_lag', labels, lag);
  const owned = sum((report) => Number(report.owner));
  metrics.set('shards_owned', labels, owned);
  const eventsMs = reports.map((report) => report.oldestEventMs);
  oldest('oldest_unsettled_timestamp_seconds', labels, eventsMs);
  for (const state of ['uploading', 'reviewing', 'settling', 'retrying'] as const) {
    const batches = sum((report) => report.jobs.get(state) ?? 0);
    metrics.set('batches', { ...labels, state }, batches);
    const createdMs = reports.map(
      (report) => report.oldestJobMs.get(state) ?? Number.POSITIVE_INFINITY,
    );
    oldest('oldest_batch_timestamp_seconds', { ...labels, state }, createdMs);
  }
}
