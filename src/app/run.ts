/** The connector process: runs the pipelines of a configuration with their telemetry, and shuts them down. */
import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { settledWithin } from '../../packages/client/src/base/abortable.ts';
import { systemClock, systemRandom } from '../../packages/client/src/base/clock.ts';
import { RUNBOOK_URL, VERSION } from '../../packages/client/src/base/version.ts';
import { secretsIn } from '../config/effective.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { connectKafka, requestFailure } from '../kafka/index.ts';
import { ResultThread } from '../kinds/review/results/result-thread.ts';
import { RefusedError } from '../pipeline/context/errors.ts';
import type { PipelinePorts } from '../pipeline/context/pipeline-context.ts';
import { describeTopics } from '../pipeline/context/topics.ts';
import { CallPacer } from '../pipeline/limits/call-pacer.ts';
import { Lanes } from '../pipeline/limits/lanes.ts';
import { Pipeline } from '../pipeline/pipeline.ts';
import { consolePages } from '../telemetry/console/console.ts';
import { RecentProblems } from '../telemetry/console/recent-problems.ts';
import { Health } from '../telemetry/health.ts';
import { startTelemetryServer, type TelemetryServer } from '../telemetry/http-server.ts';
import { createLogger } from '../telemetry/logger.ts';
import { PromMetrics } from '../telemetry/metrics.ts';
import { type MetricsPush, startMetricsPush } from '../telemetry/metrics-push.ts';
import { flushSpans, registeredTracer } from '../telemetry/tracing.ts';
import { type ConnectorService, connectorServices } from './connector-service.ts';
import { kafkaConnection } from './kafka-connection.ts';
import { kindOf, pacedServices } from './kinds.ts';
import { openFormats } from './open-formats.ts';
import { enginePipeline, readLimits } from './pipeline-options.ts';
import type { ConfigReload } from './reload.ts';

/** Result of a run, which the CLI turns into an exit code. */
type RunOutcome = 'ok' | 'failure' | 'unreachable' | 'refused';

/**
 * Growth of the heap between full garbage collections. With V8's default, garbage could take
 * several times the size of live data, but the memory budget covers the whole process (ADR 0026).
 */
const HEAP_GROWTH = '--heap-growing-percent=80';
/** Number of heartbeats per session timeout. Several may be lost before the group reassigns the shards. */
const HEARTBEATS = 10;
/**
 * Maximum time between heartbeats. Only their responses announce a rebalance, which members must
 * join within a minute.
 */
const MAX_HEARTBEAT_MS = 3_000;
/** Number of parts of a fetch. If memory is short, each shard holds one part (docs/operating.md, Memory). */
const FETCH_PARTS = 8;
/** Part of the shutdown timeout that is reserved for closing after the open transactions have ended. */
const CLOSING_MS = 750;
/** Maximum time for sending the last traces and metrics. A collector that does not respond must not delay a restart. */
const COLLECTOR_MS = 5_000;

type Opened = Awaited<ReturnType<typeof open>>;

/** Runs until `interrupted` resolves or a pipeline must stop. Then closes everything. */
export async function runConnector(
  config: Config,
  interrupted: Promise<unknown>,
  reload: ConfigReload,
): Promise<RunOutcome> {
  setFlagsFromString(HEAP_GROWTH);
  const startedMs = systemClock.now();
  const metrics = new PromMetrics({ version: VERSION });
  const problems = new RecentProblems();
  const logger = createLogger({
    level: config.log.level,
    onDropped: (lines) => metrics.count('log_lines_dropped_total', {}, lines),
    onProblem: problems.add.bind(problems),
  });
  for (const [option, secret] of secretsIn(config))
    secret.onReload(() => logger.info({ option }, 'secret reloaded'));
  const health = new Health();
  let services: ReadonlyMap<string, ConnectorService>;
  try {
    services = connectorServices(config, metrics, health, logger);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    logger.error({ error: error.message }, 'startup refused');
    return 'refused';
  }
  const opened = await open(config, services, metrics, health, logger);
  const refused = Promise.withResolvers<Error>();
  const working = new Set(config.pipelines.map(({ name }) => name));
  const pipelines = config.pipelines.map((pipeline) => {
    const service = services.get(pipeline.service) as ConnectorService;
    const ports = enginePorts(pipeline, service, opened);
    const options = enginePipeline(config, pipeline);
    const { name } = pipeline;
    const engine: Pipeline = new Pipeline(ports, options, service.budget, (error) => {
      working.delete(name);
      if (working.size === 0) refused.resolve(error);
      else {
        logger.error({ pipeline: name, error: error.message }, 'pipeline refused: stopping it');
        void engine.stop();
      }
    });
    return { name, service, engine };
  });
  const engines = pipelines.map(({ engine }) => engine);
  const apply = (next: Config) => {
    logger.setLevel(next.log.level);
    publishObjectives(metrics, next);
    for (const [index, engine] of engines.entries())
      engine.reload(enginePipeline(next, next.pipelines[index] as PipelineConfig));
  };
  const starting = new AbortController();
  void reload.start(logger, apply, starting.signal);
  const shown = { startedMs, health, memory: opened.budget, pipelines: engines, metrics, reload };
  const about = { version: VERSION, runbook: RUNBOOK_URL, now: systemClock.now };
  const pages = consolePages({ ...shown, ...about, problems });

  let server: TelemetryServer | undefined;
  let push: MetricsPush | undefined;
  let outcome: RunOutcome = 'ok';
  try {
    server = await startTelemetryServer({ ...config.http, ...opened, pages });
    const { url } = server;
    logger.info({ url, console: `${url}/` }, 'metrics and health');
    if (config.metrics.otlp !== undefined) {
      const id = `${hostname()}:${server.port}`;
      const started = startMetricsPush(config.metrics.otlp, id, startedMs, opened);
      push = await started.catch(({ message }: Error) => {
        throw new RefusedError(message);
      });
    }
    for (const { probe } of services.values()) probe.start();
    const start = async () => {
      await opened.formats.start(starting.signal);
      // Reports the missing topics of all pipelines at once. Each pipeline would only report its own.
      if (pipelines.length > 1) await describeTopics(opened.kafka.admin, config.pipelines);
      const byService = Map.groupBy(pipelines, ({ service }) => service);
      await Promise.all(
        [...byService].map(async ([{ probe }, some]) => {
          await probe.untilAccepted(starting.signal);
          await Promise.all(some.map(({ engine }) => engine.start()));
          starting.signal.throwIfAborted();
          const names = some.map(({ name }) => name);
          logger.info({ pipelines: names, version: VERSION }, 'running');
        }),
      );
    };
    const started = start();
    // A failed start no longer matters once a signal has stopped the connector.
    started.catch(() => undefined);
    const stopped = interrupted.then(() => 'stop' as const);
    const first = await Promise.race([started, stopped, refused.promise]);
    const last = first ?? (await Promise.race([stopped, refused.promise]));
    if (last instanceof Error) throw last;
    logger.info({}, 'stopping: finishing open transactions');
  } catch (error) {
    const isRefused = error instanceof RefusedError || requestFailure(error) === 'refused';
    outcome = isRefused ? 'refused' : server === undefined ? 'failure' : 'unreachable';
    logger.error(
      { error: error instanceof Error ? error.message : String(error) },
      isRefused ? 'startup refused' : 'startup failed',
    );
  }
  starting.abort(new Error('the connector is stopping'));
  await stop(config, engines, opened, push);
  await server?.close();
  if (outcome === 'ok') logger.info({}, 'stopped');
  return outcome;
}

/** Opens the parts that all pipelines share. */
async function open(
  config: Config,
  services: ReadonlyMap<string, ConnectorService>,
  metrics: PromMetrics,
  health: Health,
  logger: Logger,
) {
  // All budgets share the same bytes. The configuration's checks guarantee at least one service.
  const [{ budget }] = [...services.values()] as [ConnectorService];
  metrics.set('memory_budget_bytes', {}, budget.totalBytes);
  for (const { name } of config.pipelines) metrics.startPipeline(name);
  publishObjectives(metrics, config);
  const tracer = registeredTracer(VERSION);
  if (tracer.enabled) logger.info({}, 'traces go to the registered OpenTelemetry SDK');
  // The port is bound before the group is joined. Therefore no other running process on this host
  // has the same member name.
  const { port } = config.http;
  return {
    memberName: port !== 0 ? `${hostname()}-${port}` : undefined,
    services,
    metrics,
    logger,
    health,
    budget,
    kafka: connectKafka(kafkaConnection(config, 'connector', { logger, metrics }), logger),
    tracer,
    results: new ResultThread(),
    formats: await openFormats(config, { metrics, health, logger }),
  };
}

function publishObjectives(metrics: PromMetrics, { pipelines }: Config): void {
  for (const { name: pipeline, service, objective, lanes } of pipelines) {
    for (const { name: lane, ageMs } of new Lanes(lanes, objective.ageMs).all)
      metrics.set('objective_age_seconds', { pipeline, lane }, ageMs / 1000);
    metrics.set('objective_in_time_ratio', { pipeline, service }, objective.share);
  }
}

function enginePorts(
  pipeline: PipelineConfig,
  { client, budget }: ConnectorService,
  { kafka, memberName, metrics, health, results, formats, tracer, ...opened }: Opened,
): PipelinePorts {
  const logger = opened.logger.child({ pipeline: pipeline.name });
  const { source, journal, kafka: tuning } = pipeline;
  const topics = { groupId: source.group, sourceTopic: source.topic, journalTopic: journal.topic };
  const limits = readLimits(source);
  const { callsPerSecond } = pipeline.quota;
  const calls =
    callsPerSecond === undefined ? undefined : new CallPacer(callsPerSecond, systemClock);
  const paced = calls ? pacedServices(client, calls) : client;
  const kind = kindOf(pipeline, paced, logger, formats.of, results.reader);
  return {
    group: kafka.group({
      ...topics,
      sessionTimeoutMs: tuning.sessionTimeoutMs,
      heartbeatMs: Math.min(tuning.sessionTimeoutMs / HEARTBEATS, MAX_HEARTBEAT_MS),
      memberName,
      limits,
      maxBytes: tuning.fetchMaxBytes,
      maxBytesPerPartition: Math.ceil(tuning.fetchMaxBytes / FETCH_PARTS),
    }),
    producers: kafka.producers({ ...topics, ...tuning, pool: budget.pool }),
    admin: kafka.admin,
    reader: kafka.sourceReader({ topic: source.topic, limits }),
    kind: formats.wrap(pipeline, kind),
    clock: systemClock,
    random: systemRandom,
    metrics,
    logger,
    health,
    tracer,
    calls,
  };
}

/** Stops the pipelines and closes the parts that they share, within the shutdown timeout. */
async function stop(
  { shutdown: { timeoutMs } }: Config,
  pipelines: readonly Pipeline[],
  { services, kafka, results, formats, logger }: Opened,
  push: MetricsPush | undefined,
): Promise<void> {
  const limitMs = Math.max(0, timeoutMs - CLOSING_MS);
  const collectorMs = Math.min(COLLECTOR_MS, limitMs / 2);
  const collector = {
    close: () => Promise.all([flushSpans(collectorMs), push?.close(collectorMs)]),
  };
  const closeAll = async () => {
    await Promise.allSettled(pipelines.map((pipeline) => pipeline.stop()));
    const shared = [...services.values(), kafka, results, collector, formats];
    await Promise.allSettled(shared.map((one) => one.close()));
  };
  if (!(await settledWithin(closeAll(), limitMs)))
    logger.warn(
      { timeoutMs },
      'shutdown timed out; the next owners of the shards continue their work',
    );
}
