/** OpenTelemetry's SDK, put together. Loaded only when traces are wanted: it takes some 25 MiB and a fifth of a second. */
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
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';
import { CountedExporter } from './counted-exporter.ts';
import type { TracingSettings } from './settings.ts';

export interface Sdk {
  readonly tracer: ApiTracer;
  /** Sends what is left. Never rejects. @param withinMs what is not sent by then is lost, and counted */
  close(withinMs: number): Promise<void>;
}

export interface SdkOptions {
  readonly name: string;
  readonly version: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Where the spans go, and OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, are read from the environment of the process. */
export function startSdk(
  settings: TracingSettings,
  { name, version, logger, metrics }: SdkOptions,
): Sdk {
  diag.setLogger(diagnosticsTo(logger), {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true,
  });
  const inner =
    settings.protocol === 'http/json' ? new OtlpJsonExporter() : new OtlpProtobufExporter();
  const exporter = new CountedExporter(inner, { logger, metrics });
  // The detectors for process and host are left out: a command line is nobody's business.
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': name, 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new TracerProvider({
    resource,
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter, ...settings.batching })],
  });
  return {
    tracer: provider.getTracer(name, version),
    async close(withinMs) {
      const late = Promise.withResolvers<'late'>();
      const timer = setTimeout(() => late.resolve('late'), withinMs);
      const closed = provider.shutdown().catch((error: unknown) => {
        logger.warn(
          { error: error instanceof Error ? error.message : String(error) },
          'the last traces could not be sent',
        );
      });
      if ((await Promise.race([closed, late.promise])) === 'late') {
        logger.warn({ spans: exporter.giveUp() }, 'the last traces could not be sent in time');
      }
      clearTimeout(timer);
      diag.disable();
    },
  };
}

function samplerOf({ sampler, samplerRatio }: TracingSettings): Sampler {
  // Constructors only: ids, not content, decide.
  const roots = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(samplerRatio),
  };
  switch (sampler) {
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: roots.always_on() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: roots.always_off() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: roots.traceidratio() });
    default:
      return roots[sampler]();
  }
}

/** What the SDK says of itself: the text alone, since the rest may hold spans and answers. */
function diagnosticsTo(logger: Logger) {
  const say = (text: string) => logger.warn({}, `OpenTelemetry: ${text}`);
  const nothing = () => undefined;
  return { error: say, warn: say, info: nothing, debug: nothing, verbose: nothing };
}
