/** What the formats with a schema registry share: ids are collected and loaded for a batch of records, and then at hand. */
import type { SourceRecord } from '../../core/record.ts';
import type { EventFormat, ReadEvent } from '../../event/format.ts';
import { poison } from '../../event/json-event.ts';
import { readFrame, type SchemaCache } from '../../registry/index.ts';

/** @param read reads a framed value with its schema. Never throws */
export function registryFormat<T>(
  name: string,
  cache: SchemaCache<T>,
  read: (value: Buffer, schema: T, id: number) => ReadEvent,
): EventFormat {
  return {
    name,
    prepare: (records, signal) => cache.ensure(idsOf(records), signal),
    read: ({ value, headers }) => {
      const frame = readFrame(value, headers);
      if (frame.poison !== undefined) return frame;
      const loaded = cache.get(frame.id);
      if (loaded === undefined)
        return poison('unknown_schema', `schema ${frame.id} was not loaded: the record was read unprepared`);
      return loaded.poison === undefined ? read(value, loaded.schema, frame.id) : loaded;
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
