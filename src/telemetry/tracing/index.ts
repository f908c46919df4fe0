/**
 * Tracing of the process: off, the provider that was registered before the start (node --import),
 * or the SDK as configured by the OTEL_ variables.
 */
import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import { NO_TRACER, type Tracer } from '../../../packages/client/src/base/tracing.ts';
import { OtelTracer } from './otel-tracer.ts';
import {
  SERVICE_NAME,
  type TracingEnvironment,
  type TracingParts,
  tracingSettings,
} from './settings.ts';

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends the remaining spans. Never rejects. @param withinMs spans not sent by then are lost */
  close(withinMs: number): Promise<void>;
}

const NO_TRACING: Tracing = { tracer: NO_TRACER, close: async () => undefined };

/**
 * Starts tracing. The SDK is loaded only if the variables request traces. Never rejects: invalid
 * settings are logged and ignored.
 */
export async function startTracing(env: TracingEnvironment, parts: TracingParts): Promise<Tracing> {
  const { logger, version } = parts;
  const provider = trace.getTracerProvider();
  const registered =
    provider instanceof ProxyTracerProvider
      ? provider.getDelegateTracer(SERVICE_NAME, version)
      : provider.getTracer(SERVICE_NAME, version);
  if (registered !== undefined) {
    logger.info({}, 'traces go to the OpenTelemetry provider registered in this process');
    return { ...NO_TRACING, tracer: new OtelTracer(registered) };
  }
  const { settings, problems } = tracingSettings(env);
  for (const problem of problems) logger.warn({}, `tracing: ${problem}`);
  if (settings === undefined) return NO_TRACING;
  try {
    const { startSdk } = await import('./sdk.ts');
    const { tracer, close } = startSdk(settings, parts);
    const { protocol, sampler } = settings;
    logger.info({ protocol, sampler }, 'tracing started');
    return { tracer: new OtelTracer(tracer), close };
  } catch (error) {
    logger.warn({ error }, 'tracing cannot start; the pipelines continue without it');
    return NO_TRACING;
  }
}
