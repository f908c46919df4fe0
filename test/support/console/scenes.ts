/** States of a connector for the console to show, without a running connector. */

import { RUNBOOK_URL } from '../../../packages/client/src/base/version.ts';
import type {
  JobView,
  PipelineView,
  ShardView,
  WaitView,
} from '../../../src/core/pipeline-view.ts';
import { consolePages } from '../../../src/telemetry/console/console.ts';
import { RecentProblems } from '../../../src/telemetry/console/recent-problems.ts';
import type { ConsoleSources } from '../../../src/telemetry/console/state.ts';
import { Health } from '../../../src/telemetry/health.ts';
import { startTelemetryServer, type TelemetryServer } from '../../../src/telemetry/http-server.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { PromMetrics } from '../../../src/telemetry/metrics.ts';

export interface Scene {
  readonly sources: ConsoleSources;
  readonly health: Health;
  readonly metrics: PromMetrics;
  readonly problems: RecentProblems;
  readonly pipelines: { view: PipelineView }[];
}

const SECOND = 1_000;
const MINUTE = 60_000;

/** Creates the sources of a console. Its clock stands still unless `now` is given. */
export function scene(
  views: readonly PipelineView[],
  nowMs: number,
  now: () => number = () => nowMs,
): Scene {
  const pipelines = views.map((view) => ({ view }));
  const health = new Health();
  const metrics = new PromMetrics({ version: '1.4.0', nodeMetrics: false });
  for (const { name: pipeline } of views) metrics.startPipeline(pipeline);
  const problems = new RecentProblems(now);
  const sources: ConsoleSources = {
    version: '1.4.0',
    startedMs: nowMs - 3 * 86_400_000 - 7_200_000,
    now,
    health,
    memory: { usedBytes: 23 * 2 ** 20, totalBytes: 64 * 2 ** 20 },
    pipelines: pipelines.map((held) => ({
      view: () => bounded(held.view),
    })),
    metrics,
    problems,
    runbook: RUNBOOK_URL,
    reload: { view: { problem: '', restart: '', applied: 'log.level from …', appliedMs: nowMs } },
  };
  for (const { name } of views) health.ready(`${name}/kafka`);
  return { sources, health, metrics, problems, pipelines };
}

/** Limits jobs and shards of a view as the engine does. */
function bounded(view: PipelineView): PipelineView {
  return {
    ...view,
    jobs: view.jobs.slice(0, 50),
    shards: view.shards.slice(0, 256),
  };
}

export function pipelineView(changes: Partial<PipelineView> = {}): PipelineView {
  const name = changes.name ?? 'comments';
  const jobs = changes.jobs ?? [];
  return {
    name,
    service: 'default',
    group: `${name}-review`,
    sourceTopic: name,
    instance: '7f3a91c0-4e0b-4a58-9f55-6d1f0c9b2e11',
    shardCount: 8,
    lag: 0,
    records: { buffered: 0, creating: 0, uploading: 0, reviewing: 0, settling: 0, retrying: 0 },
    lanes: [],
    quota: [],
    assigned: changes.shards?.length ?? 0,
    shards: [],
    jobCount: jobs.length,
    jobs,
    waits: [],
    breakers: [],
    control: null,
    ...changes,
  };
}

export function jobView(nowMs: number, at: number, changes: Partial<JobView> = {}): JobView {
  const createdMs = nowMs - 4 * MINUTE + at * 11 * SECOND;
  const rows = 1_000 - ((at * 137) % 420);
  return {
    remoteId: `batch_${(0x9c3f1a27 ^ (at * 2_654_435_761)).toString(16).replace('-', '').padStart(8, '0').slice(-8)}`,
    type: ['comment', 'image-caption', 'profile', 'message'][at % 4] as string,
    shard: at % 8,
    phase: 'reviewing',
    attempt: 1,
    createdMs,
    oldestEventMs: createdMs - 9 * SECOND,
    rows,
    left: rows,
    first: { partition: at % 8, offset: 81_204 + at * 900 },
    remoteState: 'processing',
    askedMs: nowMs - ((at * 700) % 4_000),
    ...changes,
  };
}

export function shardView(
  nowMs: number,
  shard: number,
  changes: Partial<ShardView> = {},
): ShardView {
  return {
    shard,
    state: 'owner',
    ownedSinceMs: nowMs - 3 * 86_400_000 + shard * 600,
    failures: 0,
    jobs: 2,
    inFlight: 1_740 + shard * 31,
    lag: shard * 17,
    ...changes,
  };
}

/** Sets the metrics of a pipeline. `slow`: number of minutes without decisions. */
export function past(
  { metrics, pipelines }: Scene,
  name: string,
  nowMs: number,
  shape: { readonly slow?: number; readonly perSecond?: number } = {},
): void {
  const perSecond = shape.perSecond ?? 900;
  const labels = { pipeline: name };
  metrics.count('events_consumed_total', labels, perSecond * 660);
  metrics.count('decisions_total', { ...labels, status: 'SUCCESS' }, perSecond * 640);
  metrics.count('decisions_total', { ...labels, status: 'ERROR' }, Math.round(perSecond * 4));
  metrics.count('dead_lettered_total', { ...labels, reason: 'not_json' }, 12);
  const held = pipelines.find(({ view }) => view.name === name);
  if (held !== undefined)
    held.view = {
      ...held.view,
      lag: 90 + (shape.slow ?? 0) * 36_000,
      records: {
        buffered: Math.round(perSecond * 1.6),
        creating: perSecond,
        uploading: perSecond,
        reviewing: perSecond * 11,
        settling: Math.round(perSecond * 1.4),
        retrying: 0,
      },
    };
  metrics.set('balance_items', labels, 0);
  metrics.set(
    'oldest_unsettled_timestamp_seconds',
    labels,
    (nowMs - (shape.slow === undefined ? 41 : shape.slow * 60 + 33) * SECOND) / SECOND,
  );
}

/** Scene of two pipelines without problems. */
export function busyScene(nowMs = Date.now(), now?: () => number): Scene {
  const jobs = Array.from({ length: 14 }, (_, at) => jobView(nowMs, at));
  const settling = jobView(nowMs, 0, {
    phase: 'settling',
    left: 412,
    rows: 1_000,
    remoteState: 'completed',
  });
  const uploading = jobView(nowMs, 15, {
    phase: 'uploading',
    createdMs: nowMs - 2_000,
    remoteState: null,
    askedMs: null,
  });
  const shards = [0, 1, 2, 3].map((shard) => shardView(nowMs, shard));
  const made = scene(
    [
      pipelineView({
        shards,
        jobs: [settling, ...jobs.slice(1), uploading],
        quota: [{ limit: 'rowsPerDay', left: 120_000, renewsMs: 8_100_000 }],
        lanes: [
          { name: 'live', records: 120, oldestEventMs: nowMs - 2_000 },
          { name: 'default', records: 0, oldestEventMs: null },
        ],
      }),
      pipelineView({
        name: 'profile-import',
        shards: shards.slice(0, 2),
        shardCount: 4,
      }),
    ],
    nowMs,
    now,
  );
  past(made, 'comments', nowMs);
  past(made, 'profile-import', nowMs, { perSecond: 12 });
  made.problems.add(
    'warn',
    {
      pipeline: 'comments',
      error: { message: 'the service responded with 503' },
      batch: 'batch_77ab01fe',
    },
    'could not poll the state of a batch; retrying',
  );
  return made;
}

/** Scene in which the service refuses the API key and a content type, a shard is lost and retries accumulate. */
export function troubleScene(nowMs = Date.now()): Scene {
  const jobs = Array.from({ length: 12 }, (_, at) =>
    jobView(nowMs, at, {
      createdMs: nowMs - 34 * MINUTE + at * 100 * SECOND,
      oldestEventMs: nowMs - 37 * MINUTE + at * 100 * SECOND,
      askedMs: nowMs - 5 * MINUTE,
      ...(at % 4 === 2
        ? {
            phase: 'retrying',
            attempt: 2 + (at % 3),
            remoteState: 'failed',
          }
        : {}),
    }),
  );
  const waits: WaitView[] = [
    {
      reason: 'api_key',
      sinceMs: nowMs - 312 * SECOND,
      waiting: 11,
      who: ['shard 0', 'shard 1', 'shard 2', 'type comment', 'type message'],
    },
    {
      reason: 'memory',
      sinceMs: nowMs - 120 * SECOND,
      waiting: 3,
      who: ['shard 0', 'shard 1', 'shard 2'],
    },
    { reason: 'type_blocked', sinceMs: nowMs - 90 * SECOND, waiting: 1, who: ['type profile'] },
  ];
  const shards = [0, 1, 2].map((shard) => shardView(nowMs, shard, { lag: 61_222 + shard }));
  const lost = shardView(nowMs, 3, {
    state: 'lost',
    failures: 4,
    ownedSinceMs: null,
    jobs: 0,
    inFlight: 0,
    lag: 0,
  });
  const view = pipelineView({
    shards: [...shards, lost],
    jobs,
    waits,
    breakers: [
      { type: 'profile', reason: 'type_blocked', failures: 7, nextTryMs: nowMs + 21 * SECOND },
    ],
  });
  const made = scene([view], nowMs);
  past(made, 'comments', nowMs, { slow: 5 });
  made.health.notReady(
    'api_key',
    'the service refuses the API key (401/403): check the key; a rotated key file is read again by itself',
  );
  const add = (times: number, ...line: Parameters<RecentProblems['add']>) => {
    for (let n = 0; n < times; n++) made.problems.add(...line);
  };
  add(
    1,
    'warn',
    {
      reason: 'TransactionError: another owner took the transactional id',
      shard: 3,
      pipeline: 'comments',
    },
    'left the consumer group',
  );
  add(
    4,
    'warn',
    {
      pipeline: 'comments',
      shard: 3,
      error: 'TransactionError: the transaction was fenced',
      failures: 4,
    },
    'lost the shard; claiming it again',
  );
  add(
    7,
    'error',
    { pipeline: 'comments', type: 'profile', failures: 7, pauseMs: 30_000 },
    'batches of this content type keep failing; its records wait',
  );
  add(
    146,
    'warn',
    {
      pipeline: 'comments',
      batch: 'batch_9c3f1a27',
      error: 'the service responded with 401 to get_batch',
    },
    'could not poll the state of a batch; retrying',
  );
  return made;
}

export const waitView = (reason: string, sinceMs: number): WaitView => ({
  reason,
  sinceMs,
  waiting: 12,
  who: ['shard 1', 'shard 2'],
});

/** Changes the first pipeline of a scene. */
export function change({ pipelines: [held] }: Scene, changes: Partial<PipelineView>): void {
  if (held !== undefined) held.view = { ...held.view, ...changes };
}

/** Scene with far more than a page can show: 200 shards and thousands of batches. */
export function hugeScene(nowMs = Date.now()): Scene {
  const shards = Array.from({ length: 200 }, (_, shard) =>
    shardView(nowMs, shard, {
      inFlight: 25_000,
      jobs: 25,
      state: shard % 61 === 60 ? 'claiming' : 'owner',
    }),
  );
  const jobs = Array.from({ length: 5_000 }, (_, at) =>
    jobView(nowMs, at, { shard: at % 200, type: `type-${at % 40}` }),
  );
  const made = scene([pipelineView({ shards, jobs, shardCount: 600 })], nowMs);
  past(made, 'comments', nowMs, { perSecond: 40_000 });
  return made;
}

export async function serve({
  sources,
}: Scene): Promise<{ readonly server: TelemetryServer; close(): Promise<void> }> {
  const pages = consolePages(sources);
  const metrics = new PromMetrics({ version: '1', nodeMetrics: false });
  const logger = createLogger({ level: 'silent' });
  const health = new Health();
  const server = await startTelemetryServer({
    host: '127.0.0.1',
    port: 0,
    metrics,
    health,
    logger,
    pages,
  });
  return { server, close: () => server.close() };
}
