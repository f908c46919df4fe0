/** Formats with a schema registry: the schemas that a batch of records names are loaded first. */
import { err } from '../../../base/result.ts';
import { MalformedError } from '../../../base/varint-reader.ts';
import { InternalError } from '../../../core/outcome/internal-error.ts';
import type { SourceRecord } from '../../../core/record.ts';
import type { EventFormat, ReadEvent, SchemaVerdict } from '../../format.ts';
import { eventOf, poison } from '../../json-event.ts';
import { readFrame, type SchemaCache } from '../../registry/index.ts';

interface SchemaUse<T> {
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
      if (loaded === undefined) throw new Error(`schema ${id} is not loaded`);
      if (loaded.poison === undefined) return judge(loaded.schema);
      const { reason, message } = loaded.poison;
      // The replicas of a registry lag: one that does not know a schema proves nothing about it.
      if (reason === 'unknown_schema') throw new Error(message);
      return err(message);
    },
    read: ({ value, headers }) => {
      const frame = readFrame(value, headers);
      if (frame.poison !== undefined) return frame;
      const loaded = cache.get(frame.id);
      if (loaded === undefined) throw new InternalError(`schema ${frame.id} is not loaded`);
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

/**
 * Event of a binary format; its numbers have all their digits. Never throws.
 * @param read reads the whole value as JSON. @param format name of the format, for messages
 */
export function binaryEvent(format: string, read: () => unknown): ReadEvent {
  try {
    const document = read();
    return eventOf({ document, exact: () => document }, `the value is ${format}, but`);
  } catch (error) {
    // Other errors (of the runtime, of a library) may quote the data.
    const reason = error instanceof MalformedError ? error.message : 'its data could not be read';
    return poison('undecodable', `the value is not ${format} of its schema: ${reason}`);
  }
}
