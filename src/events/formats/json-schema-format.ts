/** JSON with a schema registry: the frame names the schema, the rest is JSON that its producer has validated. */
import type { EventFormat } from '../format.ts';
import { type ConfluentRegistry, FRAME_BYTES } from '../registry/index.ts';
import { registryFormat } from './binary/registry-format.ts';

export function jsonSchemaFormat(registry: ConfluentRegistry): EventFormat {
  return registryFormat(registry.settings, {
    load: (id, signal) => registry.byId(id, signal, 'JSON'),
    read: (value) => ({ bytes: value, start: FRAME_BYTES, end: value.length }),
  });
}
