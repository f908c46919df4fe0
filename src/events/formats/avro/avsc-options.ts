/** How avsc is to understand schemas that values were written with. */
import type avsc from 'avsc';
import { LOGICAL_TYPES } from './logical-types.ts';

/** Wrapped unions exist for every schema; unwrapped ones do not. */
export const AVSC_OPTIONS = {
  logicalTypes: LOGICAL_TYPES,
  wrapUnions: 'always',
  omitRecordMethods: true,
  typeHook: withoutDefaults,
} as unknown as avsc.ForSchemaOptions;

/**
 * Defaults are for those who read with another schema than the writer's, which nobody does here. avsc would check them, and refuses
 * many that registries hold: those of logical types, and those of a union's other branches. It calls this for each definition of a
 * type, so that nothing else by the name of `default` (a field, a symbol, a member of a default) is touched.
 */
function withoutDefaults(schema: unknown): undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
  const definition = schema as { default?: unknown; readonly fields?: unknown };
  delete definition.default;
  if (!Array.isArray(definition.fields)) return;
  for (const field of definition.fields as ({ default?: unknown } | null)[]) delete field?.default;
}
