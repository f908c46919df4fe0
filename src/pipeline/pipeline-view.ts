/** Read-only view of a pipeline for the console (core/ports/pipeline-view.ts). */
import type {
  ControlView,
  JobPhase,
  JobView,
  PipelineView,
  ShardView,
  ViewLimits,
} from '../core/ports/pipeline-view.ts';
import type { PipelineOptions } from './context/options.ts';
import type { PipelineContext } from './context/pipeline-context.ts';
import { FRESH_MS } from './limits/end-offsets.ts';
import type { ShardControl } from './limits/shard-control.ts';
import type { WaitReason } from './limits/wait-reasons.ts';
import type { Lag } from './pipeline-metrics.ts';
import type { Losses } from './shard/losses.ts';
import type { JobReport } from './shard/owned-shard.ts';
import type { ShardWorker } from './shard/worker.ts';

/** Longest content type shown. */
const TYPE_CHARACTERS = 120;

/** Wait reasons that can delay a job in each phase, the most telling first; `:` names a limit. */
const DELAYS: Readonly<Record<JobPhase, string>> = {
  uploading: 'unauthorized service transfer:uploads transfer kafka',
  reviewing: 'unauthorized service transfer:polls',
  settling: 'memory transfer:downloads transfer kafka',
  retrying:
    'paused type_blocked unauthorized service memory schema_registry kafka transfer:encodes',
};

export interface Seen {
  readonly kind: string;
  readonly options: PipelineOptions;
  /** undefined before the start is complete. */
  readonly context: PipelineContext | undefined;
  readonly lag: Lag;
  /** Shards assigned to this member. */
  readonly slots: readonly {
    readonly shard: number;
    readonly worker?: ShardWorker | undefined;
    readonly losses?: Losses;
  }[];
}

export function viewPipeline(
  { kind, options, context, lag, slots }: Seen,
  limits: ViewLimits,
): PipelineView {
  const { name, source } = options;
  const jobs = slots
    .flatMap(({ shard, worker }) => (worker?.owned?.jobs ?? []).map((job) => ({ ...job, shard })))
    .sort((a, b) => a.job.record.createdMs - b.job.record.createdMs);
  const phases: Record<JobPhase, number> = { uploading: 0, reviewing: 0, settling: 0, retrying: 0 };
  const left = { ...phases };
  for (const { job, phase } of jobs) {
    phases[phase]++;
    left[phase] += job.left.size;
  }
  const waiting = new Map(
    context?.waits.current().map(({ reason, who }) => [reason as string, new Set(who)]),
  );
  let room = limits.positions;
  return {
    name,
    kind,
    group: source.group,
    sourceTopic: source.topic,
    instance: context?.instance ?? null,
    lag: {
      records: lag.records ?? null,
      knownMs: context && lag.knownMs !== undefined ? wallClock(context, lag.knownMs) : null,
    },
    records: { ...left, ...outsideJobs(slots) },
    shardCount: context?.topics.shards ?? null,
    assigned: slots.length,
    shards: slots.slice(0, limits.shards).map((slot) => {
      const view = viewShard(slot, context, room);
      room -= view.positions.length;
      return view;
    }),
    jobCount: jobs.length,
    phases,
    jobs: jobs.slice(0, limits.jobs).map((job) => viewJob(job, waiting)),
    waits: context?.waits.view(limits.waiters) ?? [],
    breakers: [...(context?.breakers.blocked() ?? [])]
      .slice(0, limits.breakers)
      .map((one) => ({ ...one, type: one.type.slice(0, TYPE_CHARACTERS) })),
    control: viewControl(slots.flatMap(({ worker }) => worker?.owned?.shard.control ?? [])),
  };
}

/** Records in flight that are in no job. */
function outsideJobs(slots: Seen['slots']) {
  const sum = { buffered: 0, creating: 0 };
  for (const { worker } of slots) {
    const { buffered = 0, records = 0 } = worker?.owned?.shard.inFlight ?? {};
    sum.buffered += buffered;
    sum.creating += records - buffered;
  }
  return sum;
}

const wallClock = ({ clock }: PipelineContext, monotonicMs: number): number =>
  clock.now() - clock.monotonic() + monotonicMs;

/** Command in force in any shard, as the newest revision has it. */
function viewControl(controls: readonly ShardControl[]): ControlView | null {
  const newest = controls.toSorted((a, b) => b.revision - a.revision).find(({ hold }) => hold);
  if (newest?.hold === undefined) return null;
  const { state, by, reason, atMs } = newest.hold;
  const isDrained = controls.every((control) => control.state === 'drained');
  return { state: isDrained ? 'drained' : state, by, reason: reason ?? null, sinceMs: atMs };
}

function viewShard(
  { shard, worker, losses }: Seen['slots'][number],
  context: PipelineContext | undefined,
  positions: number,
): ShardView {
  const owned = worker?.owned;
  const report = worker?.report();
  const nowMs = context?.clock.monotonic() ?? 0;
  const isLagKnown = report !== undefined && nowMs - report.endsHeardMs <= FRESH_MS;
  const partitions = [...(owned?.shard.state.partitions.values() ?? [])];
  return {
    shard,
    state: owned !== undefined ? 'owner' : worker === undefined ? 'lost' : 'claiming',
    ownedSinceMs: owned?.sinceMs ?? null,
    failures: losses?.failures ?? 0,
    jobs: owned?.shard.state.jobs.size ?? 0,
    inFlight: report?.inFlight ?? 0,
    lag: isLagKnown ? report.lag : null,
    control: owned?.shard.control.state ?? 'running',
    partitions: worker?.partitions.length ?? 0,
    positions: partitions.slice(0, positions).map(({ partition, watermark, position }) => ({
      partition,
      watermark,
      position,
      end: context?.ends.of(partition) ?? null,
    })),
  };
}

type Waiting = ReadonlyMap<string, ReadonlySet<string>>;

type ShardJob = JobReport & { readonly shard: number };

function viewJob(one: ShardJob, waiting: Waiting): JobView {
  const { job, shard, phase, heard } = one;
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
    waitsFor: waitsFor(one, waiting),
  };
}

/** Returns the first reason that can delay the job: waits are known by shard and type, not by job. */
function waitsFor({ job, shard, phase, heard }: ShardJob, waiting: Waiting): string | null {
  const atTheService = phase === 'reviewing' && heard?.finished !== true;
  for (const delay of DELAYS[phase].split(' ')) {
    const [reason, limit] = delay.split(':') as [WaitReason, string?];
    const who = waiting.get(reason);
    if (who === undefined) continue;
    const shardWaits = who.has(limit === undefined ? `shard ${shard}` : `shard ${shard}: ${limit}`);
    if (shardWaits || (phase === 'retrying' && who.has(`type ${job.record.type}`))) return reason;
  }
  return atTheService ? 'review' : null;
}
