/** Loader of the schemas of a format: each with those that it refers to, compiled. */
import { isObject } from '../../base/json/is-object.ts';
import { parseJson } from '../../base/json/parse-json.ts';
import { RegistryRefused, RegistryUnavailable, UnusableSchema } from './errors.ts';
import type { ImportedSchema, SchemaRegistry } from './registry.ts';

/** Part of a compiler's own errors that is shown: it may quote the schema. */
const MAX_MESSAGE_CHARACTERS = 300;

/** @param imports the schemas that it refers to, in the order in which they refer to each other */
type CompileSchema<T> = (schema: unknown, imports: readonly unknown[]) => T;

/**
 * Returns a function that loads a schema by id; undefined when the registry does not know the id.
 * It rejects with RegistryUnavailable, RegistryRefused, UnusableSchema or the signal's reason.
 */
export function schemaLoader<T>(
  registry: Pick<SchemaRegistry, 'byId'>,
  wanted: 'AVRO' | 'JSON',
  compile: CompileSchema<T>,
) {
  return async (id: number, signal: AbortSignal): Promise<T | undefined> => {
    try {
      const found = await registry.byId(id, signal);
      if (found === undefined) return undefined;
      const { type, text, imports } = found;
      if (type !== wanted)
        throw new UnusableSchema(`it is ${type}, but the source is configured as ${wanted}`);
      return compile(parseJson(text), imports.map(wanted === 'JSON' ? withId : parsed));
    } catch (error) {
      signal.throwIfAborted();
      if (
        error instanceof RegistryUnavailable ||
        error instanceof RegistryRefused ||
        error instanceof UnusableSchema
      )
        throw error;
      const message = error instanceof Error ? error.message : 'it is not understood';
      throw new UnusableSchema(message.slice(0, MAX_MESSAGE_CHARACTERS));
    }
  };
}

const parsed = ({ text }: ImportedSchema): unknown => parseJson(text);

/** JSON Schema: a reference is resolved by the $id of its target. */
function withId({ name, text }: ImportedSchema): unknown {
  const schema = parseJson(text);
  return isObject(schema) && !('$id' in schema) ? { ...schema, $id: name } : schema;
}
