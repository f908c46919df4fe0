/**
 * What of OpenTelemetry's environment variables decides whether and how traces are sent (docs/tracing.md). The exporter itself reads
 * those that say where to: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS, _TIMEOUT, _COMPRESSION, _CERTIFICATE, _CLIENT_KEY and their _TRACES_ forms.
 * As the specification has it, an empty variable is none, and a wrong one is told of and left out: nobody's pipeline stops for it.
 */
export type Environment = Readonly<Record<string, string | undefined>>;

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof SAMPLERS)[number];

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export type OtlpProtocol = (typeof PROTOCOLS)[number];

export interface TracingSettings {
  readonly protocol: OtlpProtocol;
  readonly sampler: SamplerName;
  /** Of the ratio samplers: 0 to 1. */
  readonly samplerRatio: number;
  /** As the SDK calls them; absent: its defaults. */
  readonly batching: {
    readonly scheduledDelayMillis?: number;
    readonly exportTimeoutMillis?: number;
    readonly maxQueueSize?: number;
    readonly maxExportBatchSize?: number;
  };
}

export interface ReadSettings {
  /** undefined: nothing is sent. */
  readonly settings: TracingSettings | undefined;
  /** For people: what was left out, and why. */
  readonly problems: readonly string[];
}

export function tracingSettings(env: Environment): ReadSettings {
  const problems: string[] = [];
  const off = { settings: undefined, problems };
  const read = (...names: string[]): [name: string, text: string] | undefined => {
    for (const name of names) {
      const text = env[name]?.trim();
      if (text !== undefined && text !== '') return [name, text];
    }
    return undefined;
  };
  const oneOf = <T extends string>(all: readonly T[], fallback: T, ...names: string[]): T => {
    const found = read(...names);
    if (found === undefined) return fallback;
    const known = all.find((one) => one === found[1].toLowerCase());
    if (known === undefined)
      problems.push(`${found[0]} must be one of ${all.join(', ')}: ${fallback} is used`);
    return known ?? fallback;
  };
  const count = (name: string, min: number): number | undefined => {
    const found = read(name);
    if (found === undefined) return undefined;
    const number = Number(found[1]);
    if (Number.isSafeInteger(number) && number >= min && number <= MAX_COUNT) return number;
    problems.push(
      `${name} must be a whole number from ${min} to ${MAX_COUNT}: its default is used`,
    );
    return undefined;
  };

  if (read('OTEL_SDK_DISABLED')?.[1].toLowerCase() === 'true') return off;
  const exporters = read('OTEL_TRACES_EXPORTER')?.[1].split(',');
  if (exporters === undefined) {
    if (read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT') === undefined)
      return off;
  } else {
    const names = exporters.map((name) => name.trim().toLowerCase()).filter((name) => name !== '');
    const others = names.filter((name) => name !== 'otlp' && name !== 'none');
    if (others.length > 0)
      problems.push(
        'OTEL_TRACES_EXPORTER may be otlp or none: other exporters are not part of the connector',
      );
    if (!names.includes('otlp')) return off;
  }
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol?.[1].toLowerCase() === 'grpc') {
    problems.push(
      `${protocol[0]} is grpc, which is not part of the connector: no traces are sent. Use http/protobuf, and the collector's port for it (4318)`,
    );
    return off;
  }

  const batching: Record<string, number> = {};
  for (const [name, [variable, min]] of Object.entries(BATCHING)) {
    const number = count(variable, min);
    if (number !== undefined) batching[name] = number;
  }
  return {
    settings: {
      protocol: oneOf(
        PROTOCOLS,
        'http/protobuf',
        'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
        'OTEL_EXPORTER_OTLP_PROTOCOL',
      ),
      sampler: oneOf(SAMPLERS, 'parentbased_always_on', 'OTEL_TRACES_SAMPLER'),
      samplerRatio: ratioOf(read('OTEL_TRACES_SAMPLER_ARG')?.[1], problems),
      batching,
    },
    problems,
  };
}

/** Milliseconds, or spans: far more than anybody means. */
const MAX_COUNT = 1_000_000;

const BATCHING: Readonly<
  Record<keyof TracingSettings['batching'], readonly [variable: string, min: number]>
> = {
  scheduledDelayMillis: ['OTEL_BSP_SCHEDULE_DELAY', 0],
  exportTimeoutMillis: ['OTEL_BSP_EXPORT_TIMEOUT', 1],
  maxQueueSize: ['OTEL_BSP_MAX_QUEUE_SIZE', 1],
  maxExportBatchSize: ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1],
};

function ratioOf(text: string | undefined, problems: string[]): number {
  if (text === undefined) return 1;
  const ratio = Number(text);
  if (ratio >= 0 && ratio <= 1) return ratio;
  problems.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1: 1 is used');
  return 1;
}
