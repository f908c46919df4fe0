/** OpenTelemetry SDK, assembled. Loaded only when traces are sent: it takes 25 MiB and 0.2 s. */

import { type Tracer as ApiTracer, DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter as OtlpJsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as OtlpProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { settledWithin } from '../../../packages/client/src/base/abortable.ts';
import { CountedExporter } from './counted-exporter.ts';
import { SERVICE_NAME, type TracingParts, type TracingSettings } from './settings.ts';

/** Starts the SDK. The exporters and the resource read their variables from `process.env`. */
export function startSdk(
  settings: TracingSettings,
  { version, logger, metrics }: TracingParts,
): { readonly tracer: ApiTracer; close(withinMs: number): Promise<void> } {
  // The message only: the other arguments may hold spans and response bodies.
  const warn = (text: string) => logger.warn({}, `OpenTelemetry: ${text}`);
  const ignore = () => undefined;
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  const inner =
    settings.protocol === 'http/json' ? new OtlpJsonExporter() : new OtlpProtobufExporter();
  const exporter = new CountedExporter(inner, logger, metrics);
  const provider = new TracerProvider({
    // No detectors for process and host: a command line may hold secrets.
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME, 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...settings.batching })],
  });
  return {
    tracer: provider.getTracer(SERVICE_NAME, version),
    async close(withinMs) {
      const closed = provider.shutdown().catch((error: unknown) => {
        logger.warn({ error }, 'the last traces could not be sent');
      });
      if (!(await settledWithin(closed, withinMs)))
        logger.warn({ spans: exporter.giveUp() }, 'the last traces could not be sent in time');
      diag.disable();
    },
  };
}

function samplerOf({ sampler, samplerRatio }: TracingSettings): Sampler {
  const roots: Readonly<Record<string, () => Sampler>> = {
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(samplerRatio),
  };
  const root = roots[sampler.replace('parentbased_', '')]?.() ?? new AlwaysOnSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
