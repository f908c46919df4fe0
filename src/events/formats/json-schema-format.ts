/** JSON with a schema registry: the frame names the schema, the rest is JSON that its producer has validated. */
import { ok } from '../../base/result.ts';
import type { EventFormat } from '../format.ts';
import {
  type ConfluentRegistry,
  FRAME_BYTES,
  SchemaCache,
  UnusableSchema,
} from '../registry/index.ts';
import { registryFormat } from './binary/registry-format.ts';

export function jsonSchemaFormat(registry: ConfluentRegistry): EventFormat {
  const cache = new SchemaCache(async (id, signal) => {
    const schema = await registry.byId(id, signal);
    if (schema !== undefined && schema.type !== 'JSON')
      throw new UnusableSchema(`it is ${schema.type}, but the source is configured as JSON`);
    return schema;
  }, registry.settings);
  return registryFormat('json-schema', cache, {
    read: (value) => ({ bytes: value, start: FRAME_BYTES, end: value.length }),
    judge: () => ok([]),
  });
}
