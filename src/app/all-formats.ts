/** All formats, including those that need the schema registry. */
import { systemClock, systemRandom } from '../../packages/client/src/base/clock.ts';
import type { EventFormatName } from '../config/options/source.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import type { PipelineKind } from '../core/ports/pipeline-kind.ts';
import type { HealthReporter, Logger, Metrics } from '../core/ports/telemetry.ts';
import type { EventFormat } from '../events/format.ts';
import { avroFormat } from '../events/formats/avro-format.ts';
import { PLAIN_FORMATS } from '../events/formats/index.ts';
import { protobufFormat } from '../events/formats/protobuf-format.ts';
import { jsonSchemaFormat } from '../events/formats/registry-format.ts';
import type { ConfluentRegistry } from '../events/registry/index.ts';
import { OutputFormats } from './output-formats.ts';
import { schemaRegistry } from './schema-registry.ts';

export interface Formats {
  /** Returns the reader of a source's values. */
  of(name: EventFormatName): EventFormat;
  /** Returns the kind, changed to publish in the pipeline's output format. Must be called before `start`. */
  wrap(pipeline: PipelineConfig, kind: PipelineKind): PipelineKind;
  /**
   * Looks up the schemas of outputs.
   * @throws RefusedError if a schema is missing or incompatible, or the registry rejects the
   * request; RegistryUnavailable if the registry does not respond for half a minute; the signal's
   * reason
   */
  start(signal: AbortSignal): Promise<void>;
  /** Closes the registry client. Idempotent. */
  close(): Promise<void>;
}

export interface FormatParts {
  readonly metrics: Metrics;
  readonly health: HealthReporter;
  readonly logger: Logger;
}

export function allFormats(
  config: Pick<Config, 'schemaRegistry' | 'service' | 'services' | 'pipelines'>,
  { metrics, health, logger }: FormatParts,
): Formats {
  const { urls } = config.schemaRegistry;
  // The connector is not ready while a pipeline waits for the registry.
  const registry = schemaRegistry(config, {
    request: (operation, code) =>
      metrics.count('schema_registry_requests_total', { operation, code }),
    unavailable: (reason) => health.notReady('schema_registry', reason),
    available: () => health.ready('schema_registry'),
  });
  const outputs = new OutputFormats();
  return {
    of: (name) => eventFormat(name, registry),
    wrap: (pipeline, kind) => outputs.wrap(pipeline, kind),
    async start(signal) {
      if (registry === undefined) return;
      const time = { clock: systemClock, random: systemRandom };
      await outputs.prepare({ registry, logger, signal, urls, ...time });
      signal.throwIfAborted();
    },
    close: async () => registry?.close(),
  };
}

function eventFormat(name: EventFormatName, registry: ConfluentRegistry | undefined): EventFormat {
  const plain = PLAIN_FORMATS[name];
  if (plain !== undefined) return plain;
  // The checks of the configuration require the registry's addresses for this format.
  if (registry === undefined) throw new Error(`the format ${name} needs a schema registry`);
  if (name === 'avro') return avroFormat(registry);
  return name === 'protobuf' ? protobufFormat(registry) : jsonSchemaFormat(registry);
}
