/** JSON Schemas (draft 7) of written values, in regular expressions that Go's RE2 reads too: the chart's schema contains them. */

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A text with a variable in it may stand for anything; see VARIABLE. */
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

/** Text that matches; looser than a pattern with lookaheads or flags. */
export function textSchema({ source, flags }: RegExp): JsonSchema {
  const isPortable = flags.replace('u', '') === '' && !/\(\?[=!<]/.test(source);
  return { type: 'string', ...(isPortable && { pattern: source }) };
}

/** Mapping with no other members than these; each may be absent, or without a value. */
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
