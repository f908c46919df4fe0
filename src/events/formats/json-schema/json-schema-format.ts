/** JSON with a schema registry: the frame names the schema, the rest is JSON. */
import type { ValidateFunction } from 'ajv';
import { isObject } from '../../../base/json/is-object.ts';
import { writtenText } from '../../../base/json/json-text.ts';
import { MAX_VALUES, parseJson } from '../../../base/json/parse-json.ts';
import { JsonScanner, OBJECT, type ScannedValue } from '../../../base/json/scanner.ts';
import { err, ok } from '../../../base/result.ts';
import { valueLengthOf } from '../../../core/bytes/record-view.ts';
import { parsedBytes } from '../../expression/input.ts';
import { type EventFormat, jsonCost, poison } from '../../format.ts';
import {
  type ConfluentRegistry,
  FRAME_BYTES,
  LIBRARY_TYPES,
  type LibraryOptions,
  SchemaCache,
  schemaLibrary,
} from '../../registry/index.ts';
import { registryFormat } from '../binary/registry-format.ts';
import { DeadlineExceeded, deadlineOf } from './deadline.ts';
import { schemaCompiler } from './validators.ts';

/** Deadline for the check of a value, ms. A megabyte usually takes a few milliseconds. */
const DEADLINE_MS = 250;

/** @param validate true if values are checked against their schemas, as their producers already did */
export function jsonSchemaFormat(
  registry: ConfluentRegistry,
  { validate }: { readonly validate: boolean },
): EventFormat {
  // Without validation one that the validator does not understand must not stop anything.
  const ajvInstance = validate
    ? schemaCompiler()
    : {
        addSchema: () => undefined,
        compile: (schema: unknown) => Object.assign(() => true, { schema }),
      };
  const options: object = { [LIBRARY_TYPES.JSON]: { ajvInstance } };
  const load = schemaLibrary(registry.http, 'JSON', options as LibraryOptions);
  const cache = new SchemaCache<ValidateFunction>(async (id, signal) => {
    const found = await load(id, signal);
    return (found as { readonly validate: ValidateFunction } | undefined)?.validate;
  }, registry.settings);

  const within = deadlineOf(DEADLINE_MS);
  const text = new JsonScanner([[]]);
  return registryFormat('json-schema', cache, {
    cost(record) {
      const cost = jsonCost(valueLengthOf(record));
      return { ...cost, memory: validate ? parsedBytes(cost.values, cost.text) : 0 };
    },
    read(value, check, id) {
      const event = { bytes: value, start: FRAME_BYTES, end: value.length };
      // The decoder reports a value that is not JSON, or no object.
      if (!validate || text.scan(value, FRAME_BYTES) !== undefined) return event;
      const [whole] = text.values as [ScannedValue];
      if (whole.type !== OBJECT) return event;
      if (whole.values > MAX_VALUES) {
        const message = `the value has more than ${MAX_VALUES} members and elements, too many to be checked against its schema`;
        return poison('too_large', message);
      }
      const document = parseJson(writtenText(whole));
      const objection = objectionTo(() => within(() => check(document)), check, id);
      return objection === undefined ? event : poison('undecodable', objection);
    },
    judge: ({ schema }) =>
      isNeverObject(schema) ? err('no value that fits it is an object, as events must be') : ok([]),
  });
}

/** @returns the reason why a value does not fit its schema, or undefined when it does */
function objectionTo(fits: () => unknown, check: ValidateFunction, id: number): string | undefined {
  try {
    if (fits() === true) return undefined;
    // The place in the schema: the place in the value could name members that are content.
    const place = check.errors?.[0]?.schemaPath;
    return `the value does not fit schema ${id}${place === undefined ? '' : ` (${place})`}`;
  } catch (error) {
    return error instanceof DeadlineExceeded
      ? `checking the value against schema ${id} took longer than the deadline of ${DEADLINE_MS} ms`
      : `the value is nested too deeply to be checked against schema ${id}`;
  }
}

const OTHER_TYPES: ReadonlySet<unknown> = new Set([
  ...['array', 'boolean', 'integer', 'null', 'number', 'string'],
]);

/** True if no value that fits is an object; false where `$ref`, `not` or `if` would decide. */
function isNeverObject(schema: unknown): boolean {
  if (schema === false) return true;
  if (!isObject(schema) || '$ref' in schema) return false;
  const { type, enum: values, allOf, anyOf, oneOf } = schema;
  const types = [type].flat();
  if (types.length > 0 && types.every((one) => OTHER_TYPES.has(one))) return true;
  if ('const' in schema && !isObject(schema.const)) return true;
  if (Array.isArray(values) && !values.some(isObject)) return true;
  if (Array.isArray(allOf) && allOf.some(isNeverObject)) return true;
  return [anyOf, oneOf].some((some) => Array.isArray(some) && some.every(isNeverObject));
}
