/** Builds the state of a pipeline for the console (core/pipeline-view.ts). */
import type { ControlView, JobView, PipelineView, ShardView } from '../core/pipeline-view.ts';
import { FRESH_MS } from './context/end-offsets.ts';
import type { PipelineOptions } from './context/options.ts';
import type { PipelineContext } from './context/pipeline-context.ts';
import type { ShardControl } from './context/shard-control.ts';
import { lanesOf, quotaOf } from './pipeline-gauges.ts';
import type { Losses } from './shard/losses.ts';
import type { JobReport } from './shard/owned-shard.ts';
import type { ShardWorker } from './shard/worker.ts';

/** Maximum numbers of entries. They keep a view below 100 kB with 200 shards and thousands of batches. */
const MAX_JOBS = 50;
const MAX_SHARDS = 256;
const MAX_BREAKERS = 20;
const MAX_WAITERS = 8;
/** Maximum length of a content type that is shown. */
const TYPE_CHARACTERS = 120;

export interface Seen {
  readonly options: PipelineOptions;
  /** undefined until the start is complete. */
  readonly context: PipelineContext | undefined;
  /** undefined if unknown. */
  readonly lag: number | undefined;
  /** Shards assigned to this member. */
  readonly slots: readonly {
    readonly shard: number;
    readonly worker?: ShardWorker | undefined;
    readonly losses?: Losses;
  }[];
}

export function viewPipeline({ options, context, lag, slots }: Seen): PipelineView {
  const { name, service, source } = options;
  const jobs = slots
    .flatMap(({ shard, worker }) => (worker?.owned?.jobs ?? []).map((job) => ({ ...job, shard })))
    .sort((a, b) => a.job.record.createdMs - b.job.record.createdMs);
  const records: Record<keyof PipelineView['records'], number> = {
    ...{ buffered: 0, creating: 0, uploading: 0, reviewing: 0, settling: 0, retrying: 0 },
  };
  for (const { job, phase } of jobs) records[phase] += job.left.size;
  const owned = slots.flatMap(({ worker }) => worker?.owned?.shard ?? []);
  for (const { inFlight } of owned) {
    records.buffered += inFlight.buffered;
    records.creating += inFlight.records - inFlight.buffered;
  }
  return {
    name,
    service,
    group: source.group,
    sourceTopic: source.topic,
    instance: context?.instance ?? null,
    lag: lag ?? null,
    records,
    lanes: context?.lanes.areSeveral ? viewLanes(slots) : [],
    quota: quotaOf(slots.flatMap(({ worker }) => worker?.report() ?? [])),
    shardCount: context?.topics.shards ?? null,
    assigned: slots.length,
    shards: slots.slice(0, MAX_SHARDS).map((slot) => viewShard(slot, context)),
    jobCount: jobs.length,
    jobs: jobs.slice(0, MAX_JOBS).map(viewJob),
    waits: context?.waits.view(MAX_WAITERS) ?? [],
    breakers: [...(context?.breakers.blocked() ?? [])]
      .slice(0, MAX_BREAKERS)
      .map((one) => ({ ...one, type: one.type.slice(0, TYPE_CHARACTERS) })),
    control: viewControl(owned.map(({ control }) => control)),
  };
}

/** Returns the hold with the newest revision among the owned shards, or null if there is none. */
function viewControl(controls: readonly ShardControl[]): ControlView | null {
  const newest = controls.toSorted((a, b) => b.revision - a.revision).find(({ hold }) => hold);
  if (newest?.hold === undefined) return null;
  const { state, by, reason, atMs } = newest.hold;
  const isDrained = controls.every((control) => control.state === 'drained');
  return { state: isDrained ? 'drained' : state, by, reason: reason ?? null, sinceMs: atMs };
}

function viewLanes(slots: Seen['slots']): PipelineView['lanes'] {
  return lanesOf(slots.flatMap(({ worker }) => worker?.report() ?? [])).map((lane) => ({
    ...lane,
    oldestEventMs: lane.oldestEventMs === Infinity ? null : lane.oldestEventMs,
  }));
}

function viewShard(
  { shard, worker, losses }: Seen['slots'][number],
  context: PipelineContext | undefined,
): ShardView {
  const owned = worker?.owned;
  const report = worker?.report();
  const nowMs = context?.clock.monotonic() ?? 0;
  const isLagKnown = report !== undefined && nowMs - report.endsHeardMs <= FRESH_MS;
  return {
    shard,
    state: owned !== undefined ? 'owner' : worker === undefined ? 'lost' : 'claiming',
    ownedSinceMs: owned?.sinceMs ?? null,
    failures: losses?.failures ?? 0,
    jobs: owned?.shard.state.jobs.size ?? 0,
    inFlight: report?.inFlight ?? 0,
    lag: isLagKnown ? report.lag : null,
  };
}

function viewJob({ job, shard, phase, heard }: JobReport & { readonly shard: number }): JobView {
  const { record, left } = job;
  const [at] = left;
  return {
    remoteId: record.remoteId.slice(0, TYPE_CHARACTERS),
    type: record.type.slice(0, TYPE_CHARACTERS),
    shard,
    phase,
    attempt: record.attempt,
    createdMs: record.createdMs,
    oldestEventMs: record.oldestEventMs,
    rows: record.count,
    left: left.size,
    first: at === undefined ? null : { partition: at.partition, offset: at.offset },
    remoteState: heard?.state ?? null,
    askedMs: heard?.atMs ?? null,
  };
}
