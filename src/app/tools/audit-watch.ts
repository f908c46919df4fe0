/** Audits repeated until a signal, as metrics (docs/tools.md, `audit --watch`). */
import { once } from 'node:events';
import { retryWaitMs } from '../../base/backoff.ts';
import { systemClock, systemRandom } from '../../base/system-clock.ts';
import { VERSION } from '../../base/version.ts';
import type { Config, PipelineConfig } from '../../config/schema.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { Health } from '../../telemetry/health/health.ts';
import { startTelemetryServer } from '../../telemetry/health/http-server.ts';
import { createLogger } from '../../telemetry/logging/logger.ts';
import { PromMetrics } from '../../telemetry/metrics/metrics.ts';
import { type AuditProgress, auditFrom } from '../../tools/inspect/audit/audit.ts';
import { Findings } from '../../tools/inspect/audit/findings.ts';
import { withPipeline } from './inspect.ts';

/** Without `build_info`, by which alerts recognise connectors. */
const METRIC_NAMES = /^(audit_|loops$|ready$)/;
const RETRY = { baseMs: 5_000, capMs: 300_000 };

interface WatchOptions {
  readonly everyMs: number;
  /** Timestamp of the first record to audit. */
  readonly sinceMs: number;
}

interface Parts {
  readonly config: Config;
  readonly metrics: PromMetrics;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Resolves once the signal has aborted. @throws Error if http.port is in use */
export async function watchAudits(
  config: Config,
  pipelines: readonly PipelineConfig[],
  options: WatchOptions,
  signal: AbortSignal,
): Promise<void> {
  const metrics = new PromMetrics({ version: VERSION, names: METRIC_NAMES });
  const logger = createLogger({ level: config.log.level });
  const health = new Health({ stuckAfterMs: Infinity });
  const { host, port, enabled } = config.http;
  const server = enabled
    ? await startTelemetryServer({ host, port, metrics, health, logger })
    : undefined;
  logger.info({ url: server?.url, ...options }, 'watching audits');
  const parts = { config, metrics, logger, signal };
  const stopped = once(signal, 'abort');
  // A request to Kafka may take longer than a stop.
  await Promise.race([stopped, ...pipelines.map(({ name }) => watch(name, options, parts))]);
  await server?.close();
}

async function watch(pipeline: string, { everyMs, sinceMs }: WatchOptions, parts: Parts) {
  const { config, metrics, signal } = parts;
  const logger = parts.logger.child({ pipeline });
  const found = new Findings();
  const notice = (text: string) => logger.debug({ text }, 'audit notice');
  let progress: AuditProgress | undefined;
  let failures = 0;
  metrics.set('audit_start_timestamp_seconds', { pipeline }, systemClock.now() / 1_000);
  metrics.set('audit_interval_seconds', { pipeline }, everyMs / 1_000);
  while (!signal.aborted) {
    const startedMs = systemClock.now();
    const dueMs = systemClock.monotonic() + everyMs;
    let waitMs: number;
    try {
      const options = { pipeline, service: false, notice, signal };
      const request = { partitions: [], sinceMs };
      const pass = await withPipeline(config, options, (tools) =>
        auditFrom(tools, request, progress),
      );
      progress = pass.progress;
      const counts = found.add(pass);
      metrics.set('audit_records', { pipeline }, counts.records);
      metrics.set('audit_missing_records', { pipeline }, counts.missing);
      metrics.set('audit_double_records', { pipeline }, counts.double);
      metrics.set('audit_unknown_records', { pipeline }, counts.unknown);
      metrics.set('audit_without_source_records', { pipeline }, counts.withoutSource);
      metrics.set('audit_success_timestamp_seconds', { pipeline }, startedMs / 1_000);
      const level = counts.missing + counts.double > 0 ? 'error' : 'info';
      logger[level]({ ...counts }, 'audit complete');
      failures = 0;
      waitMs = Math.max(0, dueMs - systemClock.monotonic());
    } catch (error) {
      if (signal.aborted) break;
      waitMs = Math.min(everyMs, retryWaitMs(failures++, RETRY, systemRandom));
      const text = error instanceof Error ? error.message : String(error);
      logger.warn({ error: text, retryMs: Math.round(waitMs) }, 'audit failed');
    }
    await systemClock.sleep(waitMs, signal).catch(() => undefined);
  }
}
