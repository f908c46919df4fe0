/** State of the connector that /api/state returns. Times are in ms since the epoch (wall clock). */
import type { PipelineView } from '../../core/pipeline-view.ts';
import { conditionOf, KEY_CONDITION, SERVICE_CONDITION } from '../../core/service-names.ts';
import type { Health } from '../health.ts';
import type { PromMetrics } from '../metrics.ts';
import { type ReloadView, verdictOf } from './causes.ts';
import type { RecentProblems } from './recent-problems.ts';

/** Conditions that each service has. */
const OF_A_SERVICE = [SERVICE_CONDITION, KEY_CONDITION];

/** Counters of outcomes in the order of the table, with the word for each. */
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
  readonly startedMs: number;
  readonly now: () => number;
  readonly health: Pick<Health, 'liveness' | 'readiness'>;
  readonly memory: { readonly usedBytes: number; readonly totalBytes: number };
  readonly pipelines: readonly { view(): PipelineView }[];
  readonly metrics: Pick<PromMetrics, 'values'>;
  readonly problems: Pick<RecentProblems, 'list'>;
  readonly reload: { readonly view: ReloadView };
  /** Address of the folder with the runbook. Ends with a slash. */
  readonly runbook: string;
}

/** State of the connector, as the page receives it. */
export type ConsoleState = Awaited<ReturnType<typeof consoleState>>;

/** @param pipeline name of the pipeline to show in detail; if there is none with this name, the first is shown */
export async function consoleState(sources: ConsoleSources, pipeline: string | undefined) {
  const { version, startedMs, memory, runbook } = sources;
  const shown = await Promise.all(sources.pipelines.map((one) => stateOf(one.view(), sources)));
  const detail = shown.find(({ name }) => name === pipeline) ?? (shown[0] as (typeof shown)[0]);
  return {
    version,
    startedMs,
    nowMs: sources.now(),
    memory: { usedBytes: memory.usedBytes, budgetBytes: memory.totalBytes },
    runbook,
    pipelines: shown.map(({ name, verdict: { level } }) => ({ name, level })),
    /** The requested pipeline, or the first. */
    detail: { ...detail, outcomes: await outcomesOf(detail.name, sources.metrics) },
    problems: sources.problems.list(),
    reload: sources.reload.view,
  };
}

async function stateOf(view: PipelineView, sources: ConsoleSources) {
  const { health, metrics, now, startedMs } = sources;
  const { name } = view;
  /** Returns the sum of a metric's series of this pipeline or of the process. null if there are none. */
  const sum = async (metric: Parameters<PromMetrics['values']>[0]): Promise<number | null> => {
    const series = (await metrics.values(metric)).filter(
      ({ labels: { pipeline = name } }) => pipeline === name,
    );
    return series.length === 0 ? null : series.reduce((total, { value }) => total + value, 0);
  };
  // Conditions of the pipeline's service, under the names of the wait reasons.
  const own = new Map(OF_A_SERVICE.map((one) => [conditionOf(one, view.service), one]));
  const isAbout = (one: { readonly name: string }) => {
    const [base = ''] = one.name.split(':');
    return OF_A_SERVICE.includes(base)
      ? own.has(one.name)
      : one.name.startsWith(`${name}/`) || !one.name.includes('/');
  };
  const balance = await sum('balance_items');
  const oldestSeconds = await sum('oldest_unsettled_timestamp_seconds');
  const conditions = health.readiness().conditions.filter((one) => !one.ready && isAbout(one));
  const stuck = health.liveness().stuck.filter(({ shard }) => shard.startsWith(`${name}/`));
  return {
    ...view,
    verdict: verdictOf({
      view,
      reload: sources.reload.view,
      conditions: conditions.map((one) => ({
        name: own.get(one.name) ?? one.name.replace(`${name}/`, ''),
        reason: one.reason ?? '',
      })),
      stuck,
      balance,
      kafkaSilentMs: ((await sum('kafka_silent_seconds')) ?? 0) * 1000,
      upMs: now() - startedMs,
      nowMs: now(),
    }),
    /** Number of decisions and dead letters since the start. */
    ended: ((await sum('decisions_total')) ?? 0) + ((await sum('dead_lettered_total')) ?? 0),
    inFlight: Object.values(view.records).reduce((total, some) => total + some, 0),
    /** 0 if every consumed record is accounted for. null before the first count. */
    balance,
    /** Timestamp of the oldest record in flight. null if there is none. */
    oldestEventMs: oldestSeconds === null ? null : oldestSeconds * 1000,
  };
}

/** Returns counts since the start, by counter and label values. Within each counter, the largest is first. */
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
  return (await Promise.all(tables)).flat();
}
