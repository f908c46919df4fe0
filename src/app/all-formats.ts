/** Every format there is, with the schema registry. */
import type { EventFormatName } from '../config/options/source.ts';
import type { Config } from '../config/schema.ts';
import type { EventFormat } from '../event/format.ts';
import { avroFormat } from '../formats/avro/avro-format.ts';
import { PLAIN_FORMATS } from '../formats/index.ts';
import { jsonSchemaFormat } from '../formats/json-schema/json-schema-format.ts';
import { protobufFormat } from '../formats/protobuf/protobuf-format.ts';
import type { ConfluentRegistry } from '../registry/index.ts';
import type { FormatParts, Formats } from './formats.ts';
import { OutputFormats } from './output-formats.ts';
import { registryObserver, schemaRegistry } from './schema-registry.ts';
import { refuseUnreadableSources } from './source-schema.ts';
import { systemClock, systemRandom } from './system.ts';

const CONDITION = 'schemas';

export function allFormats(
  config: Pick<Config, 'schemaRegistry' | 'service' | 'pipelines'>,
  { metrics, health, logger }: FormatParts,
): Formats {
  const { schemaRegistry: settings, pipelines } = config;
  const registry = schemaRegistry(config, registryObserver(metrics, health));
  const outputs = new OutputFormats();
  const of = (name: EventFormatName) => eventFormat(name, registry, settings);
  return {
    of,
    wrap: (pipeline, kind, log) => outputs.wrap(pipeline, kind, log),
    async start(signal) {
      if (registry === undefined) return;
      health.notReady(CONDITION, 'looking up the schemas of sources and outputs');
      await refuseUnreadableSources(pipelines, {
        registry,
        formatOf: of,
        onUnreadable: settings.onUnreadableSource,
        logger,
        signal,
      });
      await outputs.prepare({ registry, urls: settings.urls, clock: systemClock, random: systemRandom, logger, signal });
      signal.throwIfAborted();
      health.ready(CONDITION);
    },
    close: async () => registry?.close(),
  };
}

/** @param options whether values of json-schema are checked against their schemas */
export function eventFormat(
  name: EventFormatName,
  registry: ConfluentRegistry | undefined,
  { validate }: { readonly validate: boolean },
): EventFormat {
  if (name === 'json' || name === 'text' || name === 'cloudevents') return PLAIN_FORMATS[name];
  // The configuration's checks ask for the addresses of one.
  if (registry === undefined) throw new Error(`the format ${name} needs a schema registry`);
  switch (name) {
    case 'avro':
      return avroFormat(registry);
    case 'protobuf':
      return protobufFormat(registry);
    case 'json-schema':
      return jsonSchemaFormat(registry, { validate });
  }
}
