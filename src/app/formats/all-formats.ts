/** Every format there is, with the schema registry. */
import type { EventFormatName } from '../../config/options/source.ts';
import type { Config } from '../../config/schema.ts';
import type { EventFormat } from '../../events/format.ts';
import { avroFormat } from '../../events/formats/avro/avro-format.ts';
import { PLAIN_FORMATS } from '../../events/formats/index.ts';
import { jsonSchemaFormat } from '../../events/formats/json-schema/json-schema-format.ts';
import { protobufFormat } from '../../events/formats/protobuf/protobuf-format.ts';
import type { ConfluentRegistry } from '../../events/registry/index.ts';
import { registryObserver, schemaRegistry } from '../clients/schema-registry.ts';
import { systemClock, systemRandom } from '../system.ts';
import type { FormatParts, Formats } from './formats.ts';
import { OutputFormats } from './output-formats.ts';
import { refuseUnreadableSources } from './source-schema.ts';

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
      await outputs.prepare({
        registry,
        urls: settings.urls,
        clock: systemClock,
        random: systemRandom,
        logger,
        signal,
      });
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
