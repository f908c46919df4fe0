/** The keywords of JSON Schema that contracts/ uses. */
export interface JsonSchema {
  readonly $id?: string;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

/** Resolves a reference within the document; returns other schemas unchanged. @throws Error for an unknown reference */
export function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const name = /^#\/\$defs\/(\w+)$/.exec(schema.$ref)?.[1] ?? '';
  const found = root.$defs?.[name];
  if (found === undefined)
    throw new Error(`unknown reference "${schema.$ref}": references have the form #/$defs/name`);
  return found;
}
