/** JSON with a schema registry: the frame names the schema, the rest is JSON. */
import type { ValidateFunction } from 'ajv';
import { abortable } from '../../core/abortable.ts';
import type { EventFormat, ReadEvent } from '../../event/format.ts';
import { parseObject, poison } from '../../event/json-event.ts';
import {
  type ConfluentRegistry,
  FRAME_BYTES,
  JSON_SCHEMA,
  type LibraryOptions,
  SchemaCache,
  SchemaLibrary,
} from '../../registry/index.ts';
import { registryFormat } from '../binary/registry-format.ts';
import { isNeverObject } from './never-object.ts';
import { schemaCompiler } from './validators.ts';

export interface JsonSchemaOptions {
  /** Whether values are checked against their schemas. Their producers did that already; it costs a pass over every value. */
  readonly validate: boolean;
}

interface Loaded {
  /** undefined: not checked. */
  readonly check: Check;
  readonly schema: unknown;
}
type Check = ValidateFunction | undefined;

export function jsonSchemaFormat(registry: ConfluentRegistry, { validate }: JsonSchemaOptions): EventFormat {
  // Without validation a schema need only be there: one that the validator does not understand must not stop anything.
  const compiler = validate
    ? schemaCompiler()
    : { addSchema: () => undefined, compile: (schema: unknown) => Object.assign(() => true, { schema }) };
  const options = { [JSON_SCHEMA]: { ajvInstance: compiler } } as unknown as LibraryOptions;
  const library = new SchemaLibrary(registry.http, 'JSON', options);
  const cache = new SchemaCache<Loaded>(async (id, signal) => {
    const found = await abortable(library.schema(id), signal);
    if (found === undefined) return undefined;
    const check = (found as unknown as { readonly validate: ValidateFunction }).validate;
    return { check: validate ? check : undefined, schema: check.schema };
  }, registry.settings);
  return registryFormat('json-schema', cache, {
    read: (value, { check }, id) => read(value, check, id),
    judge: ({ schema }) => (isNeverObject(schema) ? { refusal: NO_OBJECT, exceptions: [] } : { exceptions: [] }),
  });
}

const NO_OBJECT = 'no value that fits it is an object, which events are';

function read(value: Buffer, check: Check, id: number): ReadEvent {
  const parsed = parseObject(value.subarray(FRAME_BYTES));
  if (parsed.poison !== undefined || check === undefined) return parsed;
  try {
    if (check(parsed.event.document)) return parsed;
  } catch {
    return poison('undecodable', `the value is nested too deeply to be checked against schema ${id}`);
  }
  // The place in the schema: the place in the value could name members that are content.
  const place = check.errors?.[0]?.schemaPath;
  return poison('undecodable', `the value does not fit schema ${id}${place === undefined ? '' : ` (${place})`}`);
}
