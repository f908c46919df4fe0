/**
 * Reader of the OpenTelemetry environment variables that decide whether and how traces are sent
 * (docs/tracing.md). The exporter itself reads the address, headers, timeout, compression and TLS
 * files. As the specification requires, an empty variable counts as unset, and an invalid one is
 * reported and ignored.
 */
import type { Logger, Metrics } from '../../core/ports/telemetry.ts';

export type TracingEnvironment = Readonly<Record<string, string | undefined>>;

/** Parts of the process that tracing uses. */
export interface TracingParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly version: string;
}

export const SERVICE_NAME = 'content-review-connector';

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;

/** Variables of the batch span processor by its option, with the smallest valid value. */
const BATCHING = {
  scheduledDelayMillis: ['OTEL_BSP_SCHEDULE_DELAY', 0],
  exportTimeoutMillis: ['OTEL_BSP_EXPORT_TIMEOUT', 1],
  maxQueueSize: ['OTEL_BSP_MAX_QUEUE_SIZE', 1],
  maxExportBatchSize: ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 1],
} as const;
/** Milliseconds or spans. */
const MAX_COUNT = 1_000_000;

export interface TracingSettings {
  readonly protocol: (typeof PROTOCOLS)[number];
  readonly sampler: (typeof SAMPLERS)[number];
  /** Sampled share of the ratio samplers: 0 to 1. */
  readonly samplerRatio: number;
  /** Options of the batch span processor; absent ones keep the SDK's defaults. */
  readonly batching: { readonly [option in keyof typeof BATCHING]?: number };
}

/** @returns settings, undefined if no traces are sent, and log messages about ignored variables */
export function tracingSettings(env: TracingEnvironment) {
  const problems: string[] = [];
  const off = { settings: undefined, problems };
  const read = (name: string): string => env[name]?.trim() ?? '';
  const oneOf = <T extends string>(name: string, known: readonly T[], fallback: T): T => {
    const text = read(name).toLowerCase();
    const found = known.find((one) => one === text);
    if (text !== '' && found === undefined)
      problems.push(`${name} must be one of ${known.join(', ')}: ${fallback} is used`);
    return found ?? fallback;
  };
  const number = (name: string, min: number, max: number, whole: boolean): number | undefined => {
    const text = read(name);
    const value = Number(text);
    if (text === '') return undefined;
    if (value >= min && value <= max && !(whole && value % 1 !== 0)) return value;
    problems.push(
      `${name} must be a ${whole ? 'whole ' : ''}number from ${min} to ${max}: its default is used`,
    );
    return undefined;
  };
  const endpoint =
    read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') || read('OTEL_EXPORTER_OTLP_ENDPOINT');
  const exporters = (read('OTEL_TRACES_EXPORTER') || (endpoint === '' ? 'none' : 'otlp'))
    .toLowerCase()
    .split(/[\s,]+/);
  const protocolVariable =
    read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') === ''
      ? 'OTEL_EXPORTER_OTLP_PROTOCOL'
      : 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL';

  if (read('OTEL_SDK_DISABLED').toLowerCase() === 'true') return off;
  if (exporters.some((name) => !['otlp', 'none', ''].includes(name)))
    problems.push('OTEL_TRACES_EXPORTER may be otlp or none: the connector has no other exporters');
  if (!exporters.includes('otlp')) return off;
  if (read(protocolVariable).toLowerCase() === 'grpc') {
    problems.push(
      `${protocolVariable} is grpc, which is not supported: no traces are sent. Use http/protobuf and the collector's port for it (4318)`,
    );
    return off;
  }
  const settings: TracingSettings = {
    protocol: oneOf(protocolVariable, PROTOCOLS, 'http/protobuf'),
    sampler: oneOf('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on'),
    samplerRatio: number('OTEL_TRACES_SAMPLER_ARG', 0, 1, false) ?? 1,
    batching: Object.fromEntries(
      Object.entries(BATCHING).flatMap(([option, [name, min]]) => {
        const value = number(name, min, MAX_COUNT, true);
        return value === undefined ? [] : [[option, value]];
      }),
    ),
  };
  return { settings, problems };
}
