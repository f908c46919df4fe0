/** Formats whose frame has a schema id. With json-schema the payload is JSON that the producer has validated. */
import { InternalError } from '../../core/outcome/internal-error.ts';
import type { SourceRecord } from '../../core/record.ts';
import type { EventFormat, FormatCost, ReadEvent, ValuedRecord } from '../format.ts';
import {
  type ConfluentRegistry,
  FRAME_BYTES,
  type LoadSchema,
  type RegistrySettings,
  readFrame,
  SchemaCache,
} from '../registry/index.ts';

interface SchemaUse<T> {
  readonly load: LoadSchema<T>;
  /** See `EventFormat.cost`. */
  cost?(record: ValuedRecord): FormatCost;
  /** Reads a framed value with its schema. Never throws. */
  read(value: Buffer, schema: T): ReadEvent;
}

/** Format with a schema registry. Loads the schemas of a batch of records before it is read. */
export function registryFormat<T>(
  settings: RegistrySettings,
  { load, read, cost }: SchemaUse<T>,
): EventFormat {
  const cache = new SchemaCache(load, settings);
  return {
    ...(cost && { cost }),
    prepare: (records, signal) => cache.ensure(idsOf(records), signal),
    read: ({ value, headers }) => {
      const frame = readFrame(value, headers);
      if (frame.poison !== undefined) return frame;
      const loaded = cache.get(frame.id);
      if (loaded === undefined) throw new InternalError(`schema ${frame.id} is not loaded`);
      return loaded.poison === undefined ? read(value, loaded.schema) : loaded;
    },
  };
}

function idsOf(records: readonly SourceRecord[]): Set<number> {
  const ids = new Set<number>();
  for (const { value, headers } of records) {
    const id = value === null ? undefined : readFrame(value, headers).id;
    if (id !== undefined) ids.add(id);
  }
  return ids;
}

export function jsonSchemaFormat(registry: ConfluentRegistry): EventFormat {
  return registryFormat(registry.settings, {
    load: (id, signal) => registry.byId(id, signal, 'JSON'),
    read: (value) => ({ bytes: value, start: FRAME_BYTES, end: value.length }),
  });
}
