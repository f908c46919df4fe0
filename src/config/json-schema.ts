/** JSON Schemas (draft 7) of options. Their patterns also work in Go's RE2, since the chart contains them. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Schema of a text with variables, which may represent any value. */
export const VARIABLE: JsonSchema = { $ref: '#/$defs/variable' };

/** Definitions that the schemas refer to. */
export const DEFINITIONS = {
  variable: {
    description: 'Text with variables, filled in from the environment.',
    type: 'string',
    pattern: '\\$\\{',
  },
} as const;

export const orVariable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, VARIABLE] });

/** Schema of a text that matches. It has no pattern if that has lookaheads or flags. */
export function textSchema({ source, flags }: RegExp): JsonSchema {
  const isPortable = flags.replace('u', '') === '' && !/\(\?[=!<]/.test(source);
  return { type: 'string', ...(isPortable && { pattern: source }) };
}

/** Schema of a mapping with only these members, each of which may be absent or have no value. */
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
