/** Schemas that no event fits, seen at a glance. */

/** The older drafts' `any` is none of them. */
const OTHER_TYPES: ReadonlySet<unknown> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'string',
]);

/** Whether no value that fits is an object. Says no where that takes more than a look: `$ref`, `not`, `if`. */
export function isNeverObject(schema: unknown): boolean {
  if (schema === false) return true;
  if (!isObject(schema) || '$ref' in schema) return false;
  const { type, enum: values, allOf, anyOf, oneOf } = schema as Readonly<Record<string, unknown>>;
  const types = typeof type === 'string' ? [type] : Array.isArray(type) ? type : [];
  if (types.length > 0 && types.every((one) => OTHER_TYPES.has(one))) return true;
  if ('const' in schema && !isObject(schema.const)) return true;
  if (Array.isArray(values) && !values.some(isObject)) return true;
  if (Array.isArray(allOf) && allOf.some(isNeverObject)) return true;
  return [anyOf, oneOf].some((some) => Array.isArray(some) && some.every(isNeverObject));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
