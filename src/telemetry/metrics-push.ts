/** Push of the metrics to an OpenTelemetry collector (docs/endpoints.md). Its failures affect nothing else. */
import type { PushMetricExporter, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { settledWithin } from '../../packages/client/src/base/abortable.ts';
import { VERSION } from '../../packages/client/src/base/version.ts';
import type { TelemetryServerOptions } from './http-server.ts';
import { otlpMetrics } from './otlp-metrics.ts';

const SERVICE = 'content-review-connector';
const PACKAGES = '@opentelemetry/exporter-metrics-otlp-proto @opentelemetry/resources';

export interface MetricsPush {
  /** Pushes the metrics for the last time. Never rejects. @param withinMs time in ms after which the push is abandoned */
  close(withinMs: number): Promise<void>;
}

/**
 * Starts to push the metrics to `url`.
 * @param id unique name of this process
 * @param startedMs start of this process, in ms since the epoch
 * @throws Error if a package is missing or the interval is wrong, with the remedy
 */
export async function startMetricsPush(
  url: string,
  id: string,
  startedMs: number,
  { metrics, health, logger }: Pick<TelemetryServerOptions, 'metrics' | 'health' | 'logger'>,
): Promise<MetricsPush> {
  const [{ OTLPMetricExporter }, resources] = await Promise.all([
    import('@opentelemetry/exporter-metrics-otlp-proto'),
    import('@opentelemetry/resources'),
  ]).catch((cause) => {
    throw new Error(`metrics.otlp requires optional packages: npm install ${PACKAGES}`, { cause });
  });
  // OpenTelemetry treats an empty variable as unset.
  const interval = process.env.OTEL_METRIC_EXPORT_INTERVAL || '60000';
  if (!/^[1-9]\d{2,7}$/.test(interval))
    throw new Error('OTEL_METRIC_EXPORT_INTERVAL: set a whole number from 100 to 99999999 ms');
  const intervalMs = Number(interval);
  const exporter = new OTLPMetricExporter({ url });
  const own = { 'service.name': SERVICE, 'service.version': VERSION, 'service.instance.id': id };
  const resource = resources
    .resourceFromAttributes(own)
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
  let failing = false;
  const report = (reason: string | undefined) => {
    if (reason !== undefined && !failing) logger.warn({ url, reason }, 'metrics push failed');
    if (reason === undefined && failing) logger.info({ url }, 'metrics push recovered');
    failing = reason !== undefined;
  };
  const push = async () => {
    health.publish(metrics);
    const converted = otlpMetrics(await metrics.collect(), startedMs, Date.now());
    const scopeMetrics = [{ scope: { name: SERVICE, version: VERSION }, metrics: converted }];
    report(await outcome(exporter, { resource, scopeMetrics }));
  };
  let unfinished: Promise<void> | undefined;
  const next = () => {
    // A response may never end. In that case no further connection is opened.
    if (unfinished !== undefined) return report(`no response within ${intervalMs} ms`);
    const pushed = push().catch(({ message }: Error) => report(message));
    unfinished = pushed.finally(() => {
      unfinished = undefined;
    });
  };
  const timer = setInterval(next, intervalMs).unref();
  next();
  logger.info({ url, intervalMs }, 'metrics are pushed to the OpenTelemetry collector');
  return {
    async close(withinMs) {
      clearInterval(timer);
      const last = Promise.resolve(unfinished).then(push);
      if (!(await settledWithin(last, withinMs))) report('no response before the shutdown');
    },
  };
}

/** Exports the metrics. @returns the reason of a failure, without texts of the collector */
function outcome(exporter: PushMetricExporter, metrics: ResourceMetrics) {
  return new Promise<string | undefined>((resolve) =>
    exporter.export(metrics, ({ code, error }) => {
      if (code === 0) resolve(undefined);
      else {
        const { code, message = 'unknown' }: { code?: unknown; message?: string } = error ?? {};
        resolve(typeof code === 'number' ? `HTTP ${code}` : String(code ?? message));
      }
    }),
  );
}
