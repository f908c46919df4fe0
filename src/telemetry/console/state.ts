/** State of the connector as /api/state answers it. Times are wall clock, ms since the epoch. */
import type { BrokersView } from '../../core/ports/brokers-view.ts';
import type { PipelineView } from '../../core/ports/pipeline-view.ts';
import type { Health } from '../health/health.ts';
import type { PromMetrics } from '../metrics/metrics.ts';
import type { GroupReadings } from './group-reading.ts';
import type { LetterRates } from './letter-rate.ts';
import type { RecentProblems } from './recent-problems.ts';
import type { ServiceCalls } from './service-calls.ts';

const MAX_REASONS = 4;
const MAX_CONDITIONS = 50;
const MAX_STUCK = 20;
const MAX_OUTCOMES = 200;

/** Counters of how records ended, in the order of the table, with the word for each. */
const OUTCOMES = {
  decisions_total: 'decision',
  decision_results_total: 'result',
  dead_lettered_total: 'dead letter',
  events_skipped_total: 'skipped',
  jobs_failed_total: 'failed attempt',
  result_anomalies_total: 'result anomaly',
} as const;

export interface ConsoleSources {
  readonly version: string;
  /** The program without its arguments, and its configuration, as absolute paths for commands. */
  readonly program: readonly string[];
  readonly configFile: string;
  readonly startedMs: number;
  readonly now: () => number;
  readonly health: Pick<Health, 'liveness' | 'readiness'>;
  readonly memory: { readonly usedBytes: number; readonly totalBytes: number };
  readonly pipelines: readonly { view(): PipelineView }[];
  readonly metrics: Pick<PromMetrics, 'values'>;
  readonly problems: Pick<RecentProblems, 'list'>;
  readonly brokers: () => BrokersView;
  readonly service: Pick<ServiceCalls, 'view'>;
  readonly letters: Pick<LetterRates, 'of'>;
  readonly group: Pick<GroupReadings, 'view'>;
  /** Folder of the runbook's pages, as an address with a slash at its end. */
  readonly runbook: string;
}

/** State as the page reads it. */
export type ConsoleState = Awaited<ReturnType<typeof consoleState>>;

/**
 * @param pipeline name of the pipeline to show in detail; an unknown one shows the first
 * @param heldReading includes the last reading of the journal, without its report if it is this one: `pipeline/atMs`
 */
export async function consoleState(
  sources: ConsoleSources,
  pipeline: string | undefined,
  heldReading?: string,
) {
  const { version, program, configFile, startedMs, health, memory, metrics } = sources;
  const views = sources.pipelines.map((one) => one.view());
  const at = Math.max(
    0,
    views.findIndex(({ name }) => name === pipeline),
  );
  const detail = views[at] as PipelineView;
  const { ok, conditions } = health.readiness();
  return {
    version,
    program,
    configFile,
    startedMs,
    nowMs: sources.now(),
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
    brokers: sources.brokers(),
    service: sources.service.view(),
    runbook: sources.runbook,
    pipelines: await Promise.all(views.map((view) => summaryOf(view, sources))),
    /** The requested pipeline, or the first. */
    detail: {
      ...detail,
      outcomes: await outcomesOf(detail.name, metrics),
    },
    group: heldReading === undefined ? null : groupOf(sources, detail.name, heldReading),
    problems: sources.problems.list(),
  };
}

function groupOf({ group }: ConsoleSources, pipeline: string, heldReading: string) {
  const { report, ...reading } = group.view(pipeline);
  const isHeld = `${pipeline}/${reading.atMs}` === heldReading;
  return { ...reading, report: isHeld ? undefined : report };
}

async function summaryOf(
  {
    name,
    kind,
    assigned,
    shardCount,
    jobCount,
    lag,
    records,
    waits,
    breakers,
    control,
  }: PipelineView,
  { metrics, letters }: ConsoleSources,
) {
  /** Sum of a metric's series of the pipeline; null when there is none. */
  const sum = async (metric: Parameters<PromMetrics['values']>[0]): Promise<number | null> => {
    const series = (await metrics.values(metric)).filter(({ labels }) => labels.pipeline === name);
    return series.length === 0 ? null : series.reduce((total, { value }) => total + value, 0);
  };
  const oldestSeconds = await sum('oldest_unsettled_timestamp_seconds');
  const { reasons, ...minute } = await letters.of(name);
  return {
    ...{ name, kind, assigned, shardCount, jobCount, lag, records, waits, breakers, control },
    /** Decisions and dead letters since the start. */
    ended: ((await sum('decisions_total')) ?? 0) + ((await sum('dead_lettered_total')) ?? 0),
    inFlight: Object.values(records).reduce((total, some) => total + some, 0),
    /** 0 if every consumed record is accounted for; null before the first count. */
    balance: await sum('balance_items'),
    /** Timestamp of the oldest record without a decision; null if there is none. */
    oldestEventMs: oldestSeconds === null ? null : oldestSeconds * 1000,
    letters: { ...minute, reasons: reasons.slice(0, MAX_REASONS) },
  };
}

/** Counts since the start, by counter and label values, the largest first within a counter. */
async function outcomesOf(pipeline: string, metrics: ConsoleSources['metrics']) {
  const tables = Object.entries(OUTCOMES).map(async ([metric, word]) =>
    (await metrics.values(metric as keyof typeof OUTCOMES))
      .filter(({ labels, value }) => labels.pipeline === pipeline && value > 0)
      .map(({ labels: { pipeline: _, ...others }, value }) => ({
        outcome: [word, ...Object.values(others)].join(' '),
        total: value,
      }))
      .sort((a, b) => b.total - a.total),
  );
  return (await Promise.all(tables)).flat().slice(0, MAX_OUTCOMES);
}
