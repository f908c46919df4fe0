/** Avro with a schema registry: the frame names the writer's schema. */
import type avsc from 'avsc';
import { MalformedError } from '../../../packages/client/src/base/varint.ts';
import type { EventFormat, ReadEvent } from '../format.ts';
import {
  type ConfluentRegistry,
  FRAME_BYTES,
  schemaLibrary,
  UnusableSchema,
} from '../registry/index.ts';
import { avroReader, ByteReader, LOGICAL_TYPES, type WriteAvro } from './avro-reader.ts';
import { binaryCost, binaryEvent } from './binary-event.ts';
import { registryFormat } from './registry-format.ts';

/** Unions are wrapped, because avsc supports unwrapped ones only for some schemas. */
const OPTIONS: object = {
  logicalTypes: LOGICAL_TYPES,
  wrapUnions: 'always',
  omitRecordMethods: true,
  typeHook: withoutDefaults,
};
export const AVSC_OPTIONS = OPTIONS as avsc.ForSchemaOptions;

/**
 * Removes the defaults of a schema, which a reader needs only if its schema differs from the
 * writer's. avsc would check them, and reject many that registries contain: defaults of logical
 * types, and defaults that match a later branch of a union. avsc calls this hook for each type
 * definition, so other uses of the name `default` (a field, a symbol, a member of a default) stay.
 */
function withoutDefaults(schema: unknown): undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
  const definition = schema as { default?: unknown; readonly fields?: unknown };
  delete definition.default;
  if (!Array.isArray(definition.fields)) return;
  for (const field of definition.fields as ({ default?: unknown } | null)[]) delete field?.default;
}

export function avroFormat(registry: ConfluentRegistry): EventFormat {
  const load = schemaLibrary(registry.http, OPTIONS);
  return registryFormat(registry.settings, {
    async load(id, signal) {
      const type = (await load(id, signal)) as avsc.Type | undefined;
      return type && readerOf(type);
    },
    cost: binaryCost,
    read: (value, write) => readAvroValue(value, FRAME_BYTES, write),
  });
}

/** Reads `value` from `start` to its end. Never throws. */
export function readAvroValue(value: Buffer, start: number, write: WriteAvro): ReadEvent {
  return binaryEvent('Avro', value.length, (out) => {
    const bytes = new ByteReader(value, start);
    write(bytes, out);
    if (bytes.left > 0) throw new MalformedError('bytes are left over after the value');
  });
}

function readerOf(type: avsc.Type): WriteAvro {
  try {
    return avroReader(type);
  } catch {
    throw new UnusableSchema('its types are nested too deeply');
  }
}
