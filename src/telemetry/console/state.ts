/** What /api/state answers; the page's scripts read it by these types. Times are wall clock, ms since the epoch. */
import type { PipelineView, ViewLimits } from '../../core/ports/pipeline-view.ts';
import type { Activity, OutcomeCount, Sample } from './activity.ts';
import type { Problem } from './recent-problems.ts';

/** At 200 shards with thousands of batches an answer stays below some 100 kB. */
export const LIMITS: ViewLimits = { jobs: 50, shards: 256, positions: 256, gates: 20, waiters: 8 };
/** Over which latency and outcomes are told. */
export const RECENT_MS = 600_000;
const MAX_CONDITIONS = 50;
const MAX_STUCK = 20;
const COUNTS_ONLY: ViewLimits = { jobs: 0, shards: 0, positions: 0, gates: 0, waiters: 0 };

/** What the process tells of itself: `Health` does. */
export interface HealthView {
  liveness(): {
    readonly loops: readonly {
      readonly name: string;
      readonly state: string;
      readonly seconds: number;
      readonly reason?: string;
    }[];
  };
  readiness(): {
    readonly ok: boolean;
    readonly conditions: readonly {
      readonly name: string;
      readonly ready: boolean;
      readonly reason?: string;
    }[];
  };
}

export interface Sources {
  readonly version: string;
  /** The words that this program is started by, before its arguments, and its configuration: paths that lead there from anywhere. */
  readonly program: readonly string[];
  readonly configFile: string;
  readonly startedMs: number;
  readonly now: () => number;
  readonly health: HealthView;
  readonly memory: { readonly usedBytes: number; readonly totalBytes: number };
  readonly pipelines: readonly { view(limits: ViewLimits): PipelineView }[];
  readonly activity: Activity;
  readonly problems: { list(): readonly Problem[] };
}

export interface PipelineSummary {
  readonly name: string;
  readonly kind: string;
  readonly assigned: number;
  readonly shardCount: number | null;
  readonly jobCount: number;
  readonly inFlight: number;
  readonly buffered: number;
  readonly lag: number;
  /** 0 when every record that came in is accounted for; null before anything was counted. */
  readonly balance: number | null;
  /** Timestamp of the oldest record without a decision; null when there is none. */
  readonly oldestEventMs: number | null;
  readonly p50: number | null;
  readonly p95: number | null;
}

export interface ConsoleState {
  readonly version: string;
  /** As in Sources: what commands to be pasted begin with. */
  readonly program: readonly string[];
  readonly configFile: string;
  readonly startedMs: number;
  readonly nowMs: number;
  readonly ready: boolean;
  readonly conditions: readonly { readonly name: string; readonly reason: string }[];
  readonly stuck: readonly {
    readonly name: string;
    readonly seconds: number;
    readonly reason: string;
  }[];
  readonly memory: { readonly usedBytes: number; readonly budgetBytes: number };
  readonly pipelines: readonly PipelineSummary[];
  /** Of the pipeline that was asked for, or of the first. */
  readonly detail: PipelineView & {
    readonly outcomes: readonly OutcomeCount[];
    readonly samples: readonly Sample[];
  };
  readonly problems: readonly Problem[];
}

/** @param sinceMs samples after this */
export function stateOf(
  sources: Sources,
  asked: { readonly pipeline: string | undefined; readonly sinceMs: number },
): ConsoleState {
  const { version, program, configFile, startedMs, health, memory, activity } = sources;
  const nowMs = sources.now();
  const views = sources.pipelines.map((pipeline) => pipeline.view(COUNTS_ONLY));
  const at = Math.max(
    0,
    views.findIndex(({ name }) => name === asked.pipeline),
  );
  const detail = (sources.pipelines[at] as Sources['pipelines'][number]).view(LIMITS);
  const shown = activity.of(detail.name);
  const { ok, conditions } = health.readiness();
  return {
    version,
    program,
    configFile,
    startedMs,
    nowMs,
    ready: ok,
    conditions: conditions
      .filter(({ ready }) => !ready)
      .slice(0, MAX_CONDITIONS)
      .map(({ name, reason = '' }) => ({ name, reason })),
    stuck: health
      .liveness()
      .loops.filter(({ state }) => state === 'stuck')
      .slice(0, MAX_STUCK)
      .map(({ name, seconds, reason = '' }) => ({ name, seconds, reason })),
    memory: { usedBytes: memory.usedBytes, budgetBytes: memory.totalBytes },
    pipelines: views.map((view) => summaryOf(view, activity, nowMs)),
    detail: {
      ...detail,
      outcomes: shown.outcomesAfter(nowMs - RECENT_MS),
      samples: shown.samplesAfter(asked.sinceMs),
    },
    problems: sources.problems.list(),
  };
}

function summaryOf(
  { name, kind, assigned, shardCount, jobCount }: PipelineView,
  activity: Activity,
  nowMs: number,
): PipelineSummary {
  const shown = activity.of(name);
  const oldestSeconds = shown.gauge('oldest_unsettled_timestamp_seconds');
  return {
    name,
    kind,
    assigned,
    shardCount,
    jobCount,
    inFlight: shown.gauge('items_in_flight') ?? 0,
    buffered: shown.gauge('items_buffered') ?? 0,
    lag: shown.gauge('consumer_lag') ?? 0,
    balance: shown.gauge('balance_items'),
    oldestEventMs: oldestSeconds === null ? null : oldestSeconds * 1000,
    ...shown.latencyAfter(nowMs - RECENT_MS),
  };
}
