/** Avro with a schema registry: the frame names the writer's schema. */
import type avsc from 'avsc';
import { abortable } from '../../../base/abortable.ts';
import type { EventFormat, SchemaVerdict } from '../../format.ts';
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
    const type = (await abortable(library.schema(id), signal)) as avsc.Type | undefined;
    return type === undefined ? undefined : { type, read: readerOf(type) };
  }, registry.settings);
  return registryFormat('avro', cache, {
    read: (value, { read }) => readBinary(value, FRAME_BYTES, read, 'Avro'),
    judge: ({ type }) => verdictOn(type),
  });
}

const OBJECTS: readonly string[] = ['record', 'error', 'map'];

/** An event is an object. */
function verdictOn(type: avsc.Type): SchemaVerdict {
  const branches = type.typeName.startsWith('union:')
    ? (type as avsc.types.WrappedUnionType).types
    : [type];
  const others = branches
    .filter(({ typeName }) => !OBJECTS.includes(typeName))
    .map(({ branchName, typeName }) => branchName ?? typeName);
  if (others.length < branches.length)
    return { exceptions: others.map((name) => `values of the branch ${name} are no objects`) };
  return {
    refusal: `its values (${others.join(', ')}) are no objects, which events are: records or maps`,
    exceptions: [],
  };
}

function readerOf(type: avsc.Type): Read {
  try {
    return avroReader(type);
  } catch {
    throw new UnusableSchema('its types nest too deeply');
  }
}
