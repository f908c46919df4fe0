/** JSON with a schema registry: the frame names the schema, the rest is JSON. */
import type { ValidateFunction } from 'ajv';
import { abortable } from '../../../base/abortable.ts';
import type { EventFormat, ReadEvent } from '../../format.ts';
import { parseObject, poison } from '../../json-event.ts';
import {
  type ConfluentRegistry,
  FRAME_BYTES,
  JSON_SCHEMA,
  type LibraryOptions,
  SchemaCache,
  SchemaLibrary,
} from '../../registry/index.ts';
import { registryFormat } from '../binary/registry-format.ts';
import { type Deadline, DeadlineExceeded, deadlineOf } from './deadline.ts';
import { isNeverObject } from './never-object.ts';
import { mayRunLong } from './run-long.ts';
import { schemaCompiler } from './validators.ts';

export interface JsonSchemaOptions {
  /** Whether values are checked against their schemas. Their producers did that already; it costs a pass over every value. */
  readonly validate: boolean;
}

/** Deadline for validating a value against a schema that may run long, ms. A megabyte usually takes a few milliseconds. */
const DEADLINE_MS = 250;

interface Loaded {
  /** undefined: not checked. */
  readonly check: Check | undefined;
  readonly schema: unknown;
}
/** Returns the place in the schema that the value does not fit; undefined when it fits. */
type Check = (document: object) => string | undefined;

export function jsonSchemaFormat(
  registry: ConfluentRegistry,
  { validate }: JsonSchemaOptions,
): EventFormat {
  // Without validation a schema need only be there: one that the validator does not understand must not stop anything.
  const compiler = validate
    ? schemaCompiler()
    : {
        addSchema: () => undefined,
        compile: (schema: unknown) => Object.assign(() => true, { schema }),
      };
  const options = { [JSON_SCHEMA]: { ajvInstance: compiler } } as unknown as LibraryOptions;
  const within = deadlineOf(DEADLINE_MS);
  const library = new SchemaLibrary(registry.http, 'JSON', options);
  const cache = new SchemaCache<Loaded>(async (id, signal) => {
    const found = await abortable(library.schema(id), signal);
    if (found === undefined) return undefined;
    const { validate: compiled } = found as unknown as { readonly validate: ValidateFunction };
    return { check: validate ? checkOf(compiled, within) : undefined, schema: compiled.schema };
  }, registry.settings);
  return registryFormat('json-schema', cache, {
    read: (value, { check }, id) => read(value, check, id),
    judge: ({ schema }) =>
      isNeverObject(schema) ? { refusal: NO_OBJECT, exceptions: [] } : { exceptions: [] },
  });
}

const NO_OBJECT = 'no value that fits it is an object, which events are';

function checkOf(validate: ValidateFunction, within: Deadline): Check {
  // The place in the schema: the place in the value could name members that are content.
  const check: Check = (document) =>
    validate(document) ? undefined : (validate.errors?.[0]?.schemaPath ?? '');
  if (!mayRunLong(validate.schema)) return check;
  return (document) => within(() => check(document));
}

function read(value: Buffer, check: Check | undefined, id: number): ReadEvent {
  const parsed = parseObject(value.subarray(FRAME_BYTES));
  if (parsed.poison !== undefined || check === undefined) return parsed;
  try {
    const place = check(parsed.event.document);
    if (place === undefined) return parsed;
    return poison(
      'undecodable',
      `the value does not fit schema ${id}${place === '' ? '' : ` (${place})`}`,
    );
  } catch (error) {
    if (error instanceof DeadlineExceeded)
      return poison(
        'undecodable',
        `checking the value against schema ${id} took longer than the deadline of ${DEADLINE_MS} ms`,
      );
    return poison(
      'undecodable',
      `the value is nested too deeply to be checked against schema ${id}`,
    );
  }
}
