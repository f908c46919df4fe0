/** Gauges and readiness of a pipeline, computed from the reports of its workers. */
import type { PipelineView } from '../core/pipeline-view.ts';
import type { Labels, Metrics } from '../core/ports/telemetry.ts';
import { FRESH_MS } from './context/end-offsets.ts';
import { earliest } from './limits/in-flight.ts';
import type { Losses } from './shard/losses.ts';
import type { ShardWorker, WorkerReport } from './shard/worker.ts';

const CONTROL_STATES = ['paused', 'draining', 'drained'] as const;
/** Maximum number of unreadable partitions that a reason lists. */
const MAX_UNREAD = 3;
const QUOTA_LIMITS = ['rowsPerMinute', 'rowsPerDay', 'rowsUnderReview'] as const;
const PHASES = ['uploading', 'reviewing', 'settling', 'retrying'] as const;

/** Returns the current lag, or undefined if it is unknown. */
export function lagOf(reports: readonly WorkerReport[], nowMs: number): number | undefined {
  const knownMs = earliest(reports.map(({ endsHeardMs }) => endsHeardMs));
  if (nowMs - knownMs > FRESH_MS) return undefined;
  return reports.reduce((sum, { lag }) => sum + lag, 0);
}

/** Returns the records in flight of each lane, summed over the shards. */
export function lanesOf(reports: readonly Pick<WorkerReport, 'lanes'>[]) {
  const parts = Map.groupBy(
    reports.flatMap(({ lanes }) => [...lanes]),
    ([lane]) => lane,
  );
  return [...parts].map(([name, some]) => ({
    name,
    records: some.reduce((total, [, { records }]) => total + records, 0),
    oldestEventMs: earliest(some.map(([, { oldestEventMs }]) => oldestEventMs)),
  }));
}

/** Returns the rows left under each limit of the quota, over all shards. */
export function quotaOf(reports: readonly Pick<WorkerReport, 'quota'>[]): PipelineView['quota'] {
  const all = reports.flatMap(({ quota }) => quota ?? []);
  return QUOTA_LIMITS.flatMap((limit) => {
    const left = all.reduce((sum, quota) => sum + quota[limit], 0);
    if (all.length === 0 || left === Infinity) return [];
    const renewsMs = earliest(all.map((quota) => quota.renewsMs[limit]));
    return [{ limit, left, renewsMs: renewsMs === Infinity ? null : renewsMs }];
  });
}

/** @param open number of records that were consumed or recovered, and neither settled nor released (`Ledger`) */
export function publishGauges(
  metrics: Metrics,
  labels: Labels,
  reports: readonly WorkerReport[],
  lag: number | undefined,
  open: number,
): void {
  const sum = (of: (report: WorkerReport) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  const inFlight = sum((report) => report.inFlight);
  metrics.set('items_in_flight', labels, inFlight);
  metrics.set('balance_items', labels, open - inFlight);
  const buffered = sum((report) => report.buffered);
  metrics.set('items_buffered', labels, buffered);
  metrics.set('consumer_lag', labels, lag);
  const owned = sum((report) => Number(report.owner));
  metrics.set('shards_owned', labels, owned);
  const eventsMs = reports.map(({ oldestEventMs }) => oldestEventMs);
  metrics.set('oldest_unsettled_timestamp_seconds', labels, oldestSeconds(eventsMs));
  for (const { name: lane, records, oldestEventMs } of lanesOf(reports)) {
    metrics.set('lane_items_in_flight', { ...labels, lane }, records);
    const seconds = oldestSeconds([oldestEventMs]);
    metrics.set('lane_oldest_timestamp_seconds', { ...labels, lane }, seconds);
  }
  for (const { limit, left } of quotaOf(reports))
    metrics.set('quota_rows_left', { ...labels, limit }, Math.floor(left));
  const controls = reports.flatMap(({ control }) => control ?? []);
  for (const state of CONTROL_STATES) {
    const held = controls.filter((control) => control.state === state);
    metrics.set('control', { ...labels, state }, held.length);
  }
  const byPhase = Map.groupBy(
    reports.flatMap(({ jobs }) => jobs),
    ({ phase }) => phase,
  );
  for (const state of PHASES) {
    const jobs = byPhase.get(state) ?? [];
    metrics.set('batches', { ...labels, state }, jobs.length);
    const createdMs = jobs.map(({ job }) => job.record.createdMs);
    const seconds = oldestSeconds(createdMs);
    metrics.set('oldest_batch_timestamp_seconds', { ...labels, state }, seconds);
  }
}

/**
 * Returns the reasons why assigned shards do not make progress: claims in progress, repeated
 * losses, transactions that keep failing, unreadable partitions.
 * @param unread descriptions of the unreadable partitions
 */
export function shardProblems(
  assigned: readonly number[],
  slots: ReadonlyMap<number, { readonly worker: ShardWorker | undefined; readonly losses: Losses }>,
  unread: readonly string[],
): string[] {
  const unowned = assigned.filter((shard) => slots.get(shard)?.worker?.owned === undefined);
  const reasons = assigned.flatMap((shard) => {
    const { worker, losses } = slots.get(shard) ?? {};
    const trouble = worker?.trouble && `cannot write its transaction: ${worker.trouble}`;
    return [losses?.text, trouble].flatMap((text) => (text ? [`shard ${shard} ${text}`] : []));
  });
  if (unowned.length > 0) reasons.push(`claiming shard(s) ${unowned.join(', ')}`);
  reasons.push(...unread.slice(0, MAX_UNREAD));
  if (unread.length > MAX_UNREAD) reasons.push(`and ${unread.length - MAX_UNREAD} more partitions`);
  return reasons;
}

/** Returns the earliest time in seconds, or undefined if there is none. */
function oldestSeconds(timesMs: readonly number[]): number | undefined {
  const oldestMs = earliest(timesMs);
  return oldestMs === Infinity ? undefined : oldestMs / 1000;
}
