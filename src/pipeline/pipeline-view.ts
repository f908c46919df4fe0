/** What the engine shows of itself to people (core/ports/pipeline-view.ts). Only reads. */
import type { LiveJob } from '../core/journal/job.ts';
import type {
  JobPhase,
  JobView,
  PipelineView,
  PositionView,
  ShardView,
  ViewLimits,
} from '../core/ports/pipeline-view.ts';
import type { PipelineOptions } from './context/options.ts';
import type { PipelineContext } from './context/pipeline-context.ts';
import type { JobStatus } from './context/shard-context.ts';
import type { WaitReason } from './limits/wait-reasons.ts';
import type { Losses } from './shard/losses.ts';
import type { OwnedShard, ShardWorker } from './shard/worker.ts';

/** Types are chosen by configuration or by records: a long one is no better to read. */
const TYPE_CHARACTERS = 120;

/** What can hold up a job in each phase, the most telling first; a shard's reasons that are none of its are left out. */
const HOLDS: Readonly<
  Record<JobPhase, readonly (readonly [reason: WaitReason, limit?: string])[]>
> = {
  uploading: [
    ['unauthorized'],
    ['service_unavailable'],
    ['bad_answer'],
    ['membership'],
    ['permit', 'uploads'],
    ['upload'],
    ['kafka'],
  ],
  reviewing: [
    ['unauthorized'],
    ['service_unavailable'],
    ['bad_answer'],
    ['order'],
    ['permit', 'polls'],
  ],
  settling: [['work_memory'], ['order'], ['permit', 'downloads'], ['download'], ['kafka']],
  retrying: [
    ['type_rejected'],
    ['type_failing'],
    ['unauthorized'],
    ['service_unavailable'],
    ['bad_answer'],
    ['order'],
    ['work_memory'],
    ['schema_registry'],
    ['membership'],
    ['kafka'],
    ['permit', 'encodes'],
  ],
};

export interface Seen {
  readonly kind: string;
  readonly options: PipelineOptions;
  /** undefined before the start is through. */
  readonly context: PipelineContext | undefined;
  readonly absent: string | undefined;
  /** Of the shards assigned to this member. */
  readonly slots: readonly {
    readonly shard: number;
    readonly worker?: ShardWorker | undefined;
    readonly losses?: Losses;
  }[];
}

interface SeenJob {
  readonly job: LiveJob;
  readonly status: JobStatus | undefined;
  readonly shard: number;
}

export function viewPipeline(
  { kind, options, context, absent, slots }: Seen,
  limits: ViewLimits,
): PipelineView {
  const { name, source, output, deadLetters, journal } = options;
  const jobs: SeenJob[] = [];
  const phases: Record<JobPhase, number> = { uploading: 0, reviewing: 0, settling: 0, retrying: 0 };
  for (const { shard, worker } of slots) {
    const runtime = worker?.owned?.runtime;
    if (runtime === undefined) continue;
    for (const [id, job] of runtime.state.jobs) {
      const status = runtime.jobs.get(id);
      phases[status?.phase ?? 'uploading']++;
      jobs.push({ job, status, shard });
    }
  }
  jobs.sort((a, b) => a.job.record.createdMs - b.job.record.createdMs);
  const waiting = waiters(context);
  let room = limits.positions;
  return {
    name,
    kind,
    group: source.group,
    topics: {
      source: source.topic,
      output: output.topic,
      deadLetters: deadLetters.topic,
      journal: journal.topic,
    },
    instance: context?.instance ?? null,
    absent: absent ?? null,
    shardCount: context?.topics.shards ?? null,
    assigned: slots.length,
    shards: slots.slice(0, limits.shards).map((slot) => {
      const view = viewShard(slot, room);
      room -= view.positions.length;
      return view;
    }),
    jobCount: jobs.length,
    phases,
    jobs: jobs.slice(0, limits.jobs).map((seen) => viewJob(seen, waiting)),
    waits: context?.waits.view(limits.waiters) ?? [],
    gates:
      context === undefined ? [] : [...context.gates.held()].slice(0, limits.gates).map(shortened),
  };
}

function viewShard({ shard, worker, losses }: Seen['slots'][number], positions: number): ShardView {
  const owned = worker?.owned;
  const report = worker?.report();
  return {
    shard,
    state: owned !== undefined ? 'owner' : worker === undefined ? 'lost' : 'claiming',
    ownedSinceMs: owned?.sinceMs ?? null,
    failures: losses?.failures ?? 0,
    jobs: owned?.runtime.state.jobs.size ?? 0,
    inFlight: report?.inFlight ?? 0,
    buffered: report?.buffered ?? 0,
    lag: report?.lag ?? 0,
    partitions: worker?.partitions.length ?? 0,
    positions: owned === undefined ? [] : positionsOf(owned, positions),
  };
}

function positionsOf({ runtime, intake }: OwnedShard, atMost: number): PositionView[] {
  return [...runtime.state.partitions.values()]
    .slice(0, atMost)
    .map(({ partition, watermark, position }) => {
      return { partition, watermark, position, end: intake.endOf(partition) ?? null };
    });
}

function viewJob({ job, status, shard }: SeenJob, waiting: Waiters): JobView {
  const { record, left } = job;
  const phase = status?.phase ?? 'uploading';
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
    remoteState: status?.heard?.state ?? null,
    askedMs: status?.heard?.atMs ?? null,
    nextAskMs: phase === 'reviewing' ? (status?.nextAskMs ?? null) : null,
    waitsFor: waitsFor({ job, status, shard }, waiting),
  };
}

type Waiters = ReadonlyMap<WaitReason, ReadonlySet<string>>;

const waiters = (context: PipelineContext | undefined): Waiters =>
  new Map(context?.waits.current().map(({ reason, who }) => [reason, new Set(who)]));

/** Waits are known by shard and type: what is said of a job is the first that can hold up its phase. */
function waitsFor({ job, status, shard }: SeenJob, waiting: Waiters): WaitReason | 'review' | null {
  const phase = status?.phase ?? 'uploading';
  const atTheService = phase === 'reviewing' && status?.heard?.finished !== true;
  for (const [reason, limit] of HOLDS[phase]) {
    const who = waiting.get(reason);
    if (who === undefined || (reason === 'order' && atTheService)) continue;
    const shardWaits = who.has(limit === undefined ? `shard ${shard}` : `shard ${shard}: ${limit}`);
    if (shardWaits || (phase === 'retrying' && who.has(`type ${job.record.type}`))) return reason;
  }
  return atTheService ? 'review' : null;
}

const shortened = <T extends { readonly type: string }>(gate: T): T => ({
  ...gate,
  type: gate.type.slice(0, TYPE_CHARACTERS),
});
