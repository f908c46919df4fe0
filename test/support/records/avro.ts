/** Avro schemas and values for tests without a registry. */
import avsc from 'avsc';
import type { ReadEvent } from '../../../src/events/format.ts';
import { AVSC_OPTIONS, readAvroValue } from '../../../src/events/formats/avro-format.ts';
import { avroReader } from '../../../src/events/formats/avro-reader.ts';

/** Reads a value by a schema, as the format does after removing the frame. */
export function readAvro(schema: unknown, value: Buffer): ReadEvent {
  return readAvroValue(value, 0, avroReader(avroType(schema)));
}

/** Returns the schema as avsc's type. */
export function avroType(schema: unknown): avsc.Type {
  return avsc.Type.forSchema(structuredClone(schema) as avsc.Schema, { ...AVSC_OPTIONS });
}

/** Schema of a record with one field `v`. */
export function recordOf(type: unknown): object {
  return { type: 'record', name: 'R', fields: [{ name: 'v', type }] };
}
