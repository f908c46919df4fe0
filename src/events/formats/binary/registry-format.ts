/** What the formats with a schema registry share: ids are collected and loaded for a batch of records, and then at hand. */
import { NotPrepared } from '../../../core/outcome/internal-error.ts';
import type { SourceRecord } from '../../../core/record.ts';
import type { EventFormat, ReadEvent, SchemaVerdict } from '../../format.ts';
import { readFrame, type SchemaCache } from '../../registry/index.ts';

export interface SchemaUse<T> {
  /** Reads a framed value with its schema. Never throws. */
  read(value: Buffer, schema: T, id: number): ReadEvent;
  judge(schema: T): SchemaVerdict;
}

export function registryFormat<T>(
  name: string,
  cache: SchemaCache<T>,
  { read, judge }: SchemaUse<T>,
): EventFormat {
  return {
    name,
    prepare: (records, signal) => cache.ensure(idsOf(records), signal),
    async judge(id, signal) {
      await cache.ensure([id], signal);
      const loaded = cache.get(id);
      if (loaded === undefined) throw new Error(`schema ${id} is not at hand`);
      if (loaded.poison === undefined) return judge(loaded.schema);
      const { reason, message } = loaded.poison;
      // A registry's replicas lag: that one does not know a schema says nothing about it.
      if (reason === 'unknown_schema') throw new Error(message);
      return { refusal: message, exceptions: [] };
    },
    read: ({ value, headers }) => {
      const frame = readFrame(value, headers);
      if (frame.poison !== undefined) return frame;
      const loaded = cache.get(frame.id);
      // Forgotten since it was prepared, by a cache that is full: no reason to give the record up. It is read and prepared again.
      if (loaded === undefined)
        throw new NotPrepared(
          `schema ${frame.id} is not at hand: the record must be prepared again`,
        );
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
