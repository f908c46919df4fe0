/** JSON Schemas (draft 7) of options. Their patterns also work in Go's RE2, because the Helm chart contains them. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schema of a string with variables. Any option may have such a string. */
export const VARIABLE: JsonSchema = { $ref: '#/$defs/variable' };

/** Definitions to which the schemas refer. */
export const DEFINITIONS = {
  variable: {
    description: 'String with variables from the environment.',
    type: 'string',
    pattern: '\\$\\{',
  },
} as const;

export const orVariable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, VARIABLE] });

/** Schema of a string that matches a regular expression. The pattern is left out if it has lookaheads or flags. */
export function textSchema({ source, flags }: RegExp): JsonSchema {
  const isPortable = flags.replace('u', '') === '' && !/\(\?[=!<]/.test(source);
  return { type: 'string', ...(isPortable && { pattern: source }) };
}

/** Schema of a mapping that has only these members. Each may be absent or have no value. */
export function mappingSchema(members: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      Object.entries(members).map(([name, member]) => [
        name,
        { anyOf: [member, VARIABLE, { type: 'null' }] },
      ]),
    ),
  };
}
