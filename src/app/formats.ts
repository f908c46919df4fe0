/** How the values of a pipeline's source are read, from its configuration. */
import type { EventFormatName } from '../config/options/source.ts';
import type { EventFormat } from '../event/format.ts';
import { avroFormat } from '../formats/avro/avro-format.ts';
import { PLAIN_FORMATS } from '../formats/index.ts';
import { jsonSchemaFormat } from '../formats/json-schema/json-schema-format.ts';
import { protobufFormat } from '../formats/protobuf/protobuf-format.ts';
import type { ConfluentRegistry } from '../registry/index.ts';

/** @param validate whether values of json-schema are checked against their schemas */
export function eventFormats(
  registry: ConfluentRegistry | undefined,
  { validate }: { readonly validate: boolean },
): (name: EventFormatName) => EventFormat {
  // The configuration's checks ask for the addresses of one.
  const needed = (name: string): ConfluentRegistry => {
    if (registry === undefined) throw new Error(`the format ${name} needs a schema registry`);
    return registry;
  };
  return (name) => {
    switch (name) {
      case 'json':
      case 'text':
      case 'cloudevents':
        return PLAIN_FORMATS[name];
      case 'avro':
        return avroFormat(needed(name));
      case 'protobuf':
        return protobufFormat(needed(name));
      case 'json-schema':
        return jsonSchemaFormat(needed(name), { validate });
    }
  };
}
