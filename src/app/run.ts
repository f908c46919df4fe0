/** The connector as a process: every pipeline of a configuration, its telemetry, its orderly end. */
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { VERSION } from '../base/version.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import type { Logger, Metrics } from '../core/ports/telemetry.ts';
import type { Tracer } from '../core/ports/tracing.ts';
import { connectKafka, type KafkaConnection, requestFailure } from '../kafka/index.ts';
import { ResultThread } from '../kinds/review/thread/result-thread.ts';
import { RefusedError } from '../pipeline/context/errors.ts';
import type { PipelineOptions } from '../pipeline/context/options.ts';
import type { PipelinePorts } from '../pipeline/context/pipeline-context.ts';
import { MemoryBudget } from '../pipeline/limits/memory-budget.ts';
import { Supervisor } from '../pipeline/pipeline.ts';
import type { ServiceClient } from '../service/client.ts';
import { Console } from '../telemetry/console/console.ts';
import { RecentProblems } from '../telemetry/console/recent-problems.ts';
import { Health } from '../telemetry/health/health.ts';
import { startTelemetryServer, type TelemetryServer } from '../telemetry/health/http-server.ts';
import { DebugSwitch } from '../telemetry/logging/debug-switch.ts';
import { createLogger } from '../telemetry/logging/logger.ts';
import { PromMetrics } from '../telemetry/metrics/metrics.ts';
import { startTracing } from '../telemetry/tracing/index.ts';
import { kafkaConnection } from './clients/kafka-connection.ts';
import { serviceClient } from './clients/service-client.ts';
import type { Formats } from './formats/formats.ts';
import { openFormats } from './formats/open-formats.ts';
import { kindOf } from './kinds.ts';
import { enginePipeline, readLimits } from './pipeline-options.ts';
import { systemClock, systemRandom } from './system.ts';

/** How a run ended; the CLI turns it into an exit code. */
export type RunOutcome = 'ok' | 'failure' | 'unreachable' | 'refused';

/** What the engine of one pipeline runs on. */
export interface EngineParts {
  readonly ports: PipelinePorts;
  readonly options: PipelineOptions;
}

/**
 * V8 lets garbage grow to several times what is alive before it collects. The memory budget is a promise about the whole
 * process, so the heap may grow by four fifths instead (docs/adr/0005).
 */
const HEAP_GROWTH = '--heap-growing-percent=80';
const STUCK_AFTER_MS = 60_000;
/** One partition's share of a fetch: while memory is short, each shard holds one such part (docs/operations.md, Memory). */
const FETCH_PARTS = 8;
/** Of the shutdown's time, kept for what comes after the transactions in hand: the last answers, and the process's own end. */
const CLOSING_MS = 750;
/** Of the same time, for the last traces at most, and no more than half of it: a collector that does not answer holds up no restart. */
const TRACES_MS = 5_000;

/**
 * Runs until `interrupted` resolves, or until the connector must not go on. Everything it opened is closed when it resolves.
 * @param configFile where the configuration came from: commands that the console shows name it.
 * @param around may put something between the engine and the outside: a build for tests does.
 */
export async function runConnector(
  config: Config,
  configFile: string,
  interrupted: Promise<unknown>,
  around: (engine: EngineParts) => EngineParts = (engine) => engine,
): Promise<RunOutcome> {
  setFlagsFromString(HEAP_GROWTH);
  const metrics = new PromMetrics({ version: VERSION });
  const onDropped = (lines: number) => metrics.count('log_lines_dropped_total', {}, lines);
  const startedMs = systemClock.now();
  const problems = config.http.enabled && config.http.console ? new RecentProblems() : undefined;
  const onProblem = problems?.add.bind(problems);
  const logger = createLogger({
    level: config.log.level,
    onDropped,
    ...(onProblem && { onProblem }),
  });
  const debug = new DebugSwitch(logger);
  debug.listen();
  const health = new Health({ stuckAfterMs: STUCK_AFTER_MS });
  const budget = new MemoryBudget(config.memory.budgetBytes);
  metrics.set('memory_budget_bytes', {}, budget.totalBytes);
  for (const { name } of config.pipelines) metrics.startPipeline(name);

  let service: ServiceClient;
  try {
    service = connectorService(config, metrics, logger);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    logger.error({ error: error.message }, 'refuses to run');
    debug.close();
    return 'refused';
  }
  const kafka = connectKafka(kafkaConnection(config, 'connector', { logger, metrics }), logger);
  const { tracer, close: closeTraces } = await startTracing(process.env, {
    logger,
    metrics,
    version: VERSION,
  });
  const results = new ResultThread(budget.pool);
  const formats = await openFormats(config, { metrics, health, logger });
  const refused = Promise.withResolvers<Error>();
  const onRefused = refused.resolve;
  const supervisors = config.pipelines.map((pipeline) =>
    supervise({
      config,
      pipeline,
      kafka,
      service,
      logger,
      metrics,
      health,
      budget,
      around,
      results,
      formats,
      tracer,
      onRefused,
    }),
  );
  const starting = new AbortController();
  const now = () => systemClock.now();
  const [, script = ''] = process.argv;
  const called = {
    program: [process.execPath, path.resolve(script)],
    configFile: path.resolve(configFile),
  };
  const shown = {
    version: VERSION,
    ...called,
    startedMs,
    now,
    health,
    memory: budget,
    pipelines: supervisors,
  };
  const pages = problems && new Console({ ...shown, metrics, problems }, config.http.host);
  let server: TelemetryServer | undefined;
  let outcome: RunOutcome = 'ok';
  try {
    if (config.http.enabled) {
      const { host, port } = config.http;
      server = await startTelemetryServer({ host, port, metrics, health, logger, pages });
      logger.info(
        { url: server.url, ...(pages && { console: `${server.url}/` }) },
        'metrics and health',
      );
    }
    const start = async () => {
      await formats.start(starting.signal);
      await Promise.all(supervisors.map((supervisor) => supervisor.start()));
    };
    const started = start();
    // A start that fails after the signal came is nobody's business any more.
    started.catch(() => undefined);
    const stopped = interrupted.then(() => 'stop' as const);
    const first = await Promise.race([started, stopped, refused.promise]);
    if (first === undefined)
      logger.info(
        { pipelines: config.pipelines.map(({ name }) => name), version: VERSION },
        'running',
      );
    const last = first ?? (await Promise.race([stopped, refused.promise]));
    if (last instanceof Error) throw last;
    logger.info({}, 'stopping: finishing the transactions in hand');
  } catch (error) {
    const refuses = error instanceof RefusedError || requestFailure(error) === 'refused';
    outcome = refuses
      ? 'refused'
      : server === undefined && config.http.enabled
        ? 'failure'
        : 'unreachable';
    logger.error(
      { error: error instanceof Error ? error.message : String(error) },
      outcome === 'refused' ? 'refuses to run' : 'cannot start',
    );
  }
  starting.abort(new Error('the connector stops'));
  const tracesMs = Math.min(TRACES_MS, Math.max(0, config.shutdown.timeoutMs - CLOSING_MS) / 2);
  const traces = { close: () => closeTraces(tracesMs) };
  const connections = [service, kafka, results, traces, formats];
  await stop(config, supervisors, connections, server, logger);
  if (outcome === 'ok') logger.info({}, 'stopped');
  debug.close();
  return outcome;
}

/** @throws as `serviceClient` */
function connectorService(
  { service }: Config,
  metrics: PromMetrics,
  logger: Logger,
): ServiceClient {
  const { timeouts } = service;
  return serviceClient(service, {
    connectTimeoutMs: timeouts.connectMs,
    headersTimeoutMs: timeouts.headersMs,
    bodyTimeoutMs: timeouts.bodyMs,
    retry: {
      maxRetries: service.retry.attempts - 1,
      baseMs: service.retry.baseMs,
      capMs: service.retry.capMs,
    },
    maxConcurrentRequests: service.concurrency.requests,
    maxConcurrentTransfers: service.concurrency.transfers,
    observer: {
      request: (operation, code, seconds) => {
        metrics.count('http_requests_total', { operation, code });
        metrics.observe('http_request_duration_seconds', { operation }, seconds);
      },
      retry: (operation, reason) => metrics.count('http_retries_total', { operation, reason }),
      transferHost: (host) => {
        if (service.transfer.hosts.length > 0) return;
        logger.info(
          { host },
          'first transfer to this host; service.transfer.hosts can list those that are meant',
        );
      },
      limit: (target, limit) => metrics.set('http_concurrency_limit', { target }, limit),
      orphanPossible: () => metrics.count('orphaned_jobs_total', {}),
    },
  });
}

function supervise(parts: {
  config: Config;
  pipeline: PipelineConfig;
  kafka: KafkaConnection;
  service: ServiceClient;
  logger: Logger;
  metrics: Metrics;
  health: Health;
  budget: MemoryBudget;
  around: (engine: EngineParts) => EngineParts;
  results: ResultThread;
  formats: Formats;
  tracer: Tracer;
  onRefused: (error: Error) => void;
}): Supervisor {
  const { config, pipeline, kafka, service, metrics, health, budget } = parts;
  const logger = parts.logger.child({ pipeline: pipeline.name });
  const { source, journal, kafka: tuning } = pipeline;
  const topics = { groupId: source.group, sourceTopic: source.topic, journalTopic: journal.topic };
  const { formats } = parts;
  const limits = readLimits(source);
  const kind = formats.wrap(
    pipeline,
    kindOf(pipeline, service, logger, formats.of, parts.results.reader),
    logger,
  );
  const { ports, options } = parts.around({
    ports: {
      group: kafka.group({
        ...topics,
        limits,
        sessionTimeoutMs: tuning.sessionTimeoutMs,
        heartbeatMs: tuning.heartbeatMs,
        metadataMaxAgeMs: tuning.metadataMaxAgeMs,
        maxWaitMs: tuning.maxWaitMs,
        maxBytes: tuning.fetchMaxBytes,
        maxBytesPerPartition: Math.ceil(tuning.fetchMaxBytes / FETCH_PARTS),
      }),
      producers: kafka.producers({
        ...topics,
        pool: budget.pool,
        transactionTimeoutMs: tuning.transactionTimeoutMs,
      }),
      admin: kafka.admin,
      reader: kafka.sourceReader({ topic: source.topic, limits }),
      kind,
      clock: systemClock,
      random: systemRandom,
      metrics,
      logger,
      health,
      tracer: parts.tracer,
    },
    options: enginePipeline(config, pipeline),
  });
  return new Supervisor(ports, options, budget, parts.onRefused);
}

/** Within the configured time, whatever hangs. */
async function stop(
  config: Config,
  supervisors: readonly Supervisor[],
  connections: readonly { close(): Promise<void> }[],
  server: TelemetryServer | undefined,
  logger: Logger,
): Promise<void> {
  const closeAll = async () => {
    await Promise.allSettled(supervisors.map((supervisor) => supervisor.stop()));
    await Promise.allSettled(connections.map((connection) => connection.close()));
  };
  const closed = new AbortController();
  const late = systemClock
    .sleep(Math.max(0, config.shutdown.timeoutMs - CLOSING_MS), closed.signal)
    .then(
      () => true,
      () => false,
    );
  // A timer left behind would hold the process.
  void closeAll().then(() => closed.abort());
  if (await late)
    logger.warn(
      { timeoutMs: config.shutdown.timeoutMs },
      'not everything ended in time; the next owner picks it up',
    );
  await server?.close();
}
