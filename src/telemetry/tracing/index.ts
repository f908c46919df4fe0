/** Tracing of a process: none, the provider that somebody else registered (node --import), or the SDK that the OTEL_ variables ask for. */
import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';
import { NO_TRACER, type Tracer } from '../../core/ports/tracing.ts';
import { OtelTracer } from './otel-tracer.ts';
import { type Environment, tracingSettings } from './settings.ts';

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what is left. Never rejects. @param withinMs what is not sent by then is lost */
  close(withinMs: number): Promise<void>;
}

const SERVICE_NAME = 'content-review-connector';

/** Without any of it nothing of the SDK is loaded. Never rejects: what cannot be used is logged, and the pipelines go on. */
export async function startTracing(
  env: Environment,
  {
    logger,
    metrics,
    version,
  }: { readonly logger: Logger; readonly metrics: Metrics; readonly version: string },
): Promise<Tracing> {
  const registered = registeredTracer(version);
  if (registered !== undefined) {
    logger.info({}, 'traces go to the OpenTelemetry provider that is registered in this process');
    return { tracer: new OtelTracer(registered), close: async () => undefined };
  }
  const { settings, problems } = tracingSettings(env);
  for (const problem of problems) logger.warn({}, `tracing: ${problem}`);
  if (settings === undefined) return NO_TRACING;
  try {
    const { startSdk } = await import('./sdk.ts');
    const sdk = startSdk(settings, { name: SERVICE_NAME, version, logger, metrics });
    logger.info({ protocol: settings.protocol, sampler: settings.sampler }, 'traces are sent');
    return { tracer: new OtelTracer(sdk.tracer), close: (withinMs) => sdk.close(withinMs) };
  } catch (error) {
    logger.warn(
      { error: error instanceof Error ? error.message : String(error) },
      'tracing cannot start; the pipelines go on without',
    );
    return NO_TRACING;
  }
}

const NO_TRACING: Tracing = { tracer: NO_TRACER, close: async () => undefined };

function registeredTracer(version: string) {
  const provider = trace.getTracerProvider();
  if (!(provider instanceof ProxyTracerProvider)) return provider.getTracer(SERVICE_NAME, version);
  return provider.getDelegateTracer(SERVICE_NAME, version);
}
