/** Avro with a schema registry: the frame names the writer's schema. */
import type avsc from 'avsc';
import { abortable } from '../../core/abortable.ts';
import type { EventFormat } from '../../event/format.ts';
import {
  AVRO,
  type ConfluentRegistry,
  FRAME_BYTES,
  type LibraryOptions,
  SchemaCache,
  SchemaLibrary,
  UnusableSchema,
} from '../../registry/index.ts';
import { type Read, readBinary } from '../binary/binary-event.ts';
import { registryFormat } from '../binary/registry-format.ts';
import { AVSC_OPTIONS } from './avsc-options.ts';
import { avroReader } from './reader.ts';

const LIBRARY_OPTIONS = { [AVRO]: AVSC_OPTIONS } as unknown as LibraryOptions;

export function avroFormat(registry: ConfluentRegistry): EventFormat {
  const library = new SchemaLibrary(registry.http, 'AVRO', LIBRARY_OPTIONS);
  const cache = new SchemaCache(async (id, signal) => {
    const type = await abortable(library.schema(id), signal);
    return type === undefined ? undefined : readerOf(type as unknown as avsc.Type);
  }, registry.settings);
  return registryFormat('avro', cache, (value, read) => readBinary(value, FRAME_BYTES, read, 'Avro'));
}

function readerOf(type: avsc.Type): Read {
  try {
    return avroReader(type);
  } catch {
    throw new UnusableSchema('its types nest too deeply');
  }
}
