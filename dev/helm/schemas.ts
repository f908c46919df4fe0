/** Validation by published schemas: CRDs, and the Compose Specification. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseAllDocuments } from 'yaml';

/** Returns the problems, an empty list if valid. */
type Validate = (value: unknown) => string[];

type Schema = { [key: string]: unknown };

interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [key: string]: unknown;
}

/** Returns validators by `apiVersion/kind`. */
export function customResources(directory: string): Map<string, Validate> {
  const validators = new Map<string, Validate>();
  for (const file of readdirSync(directory).filter((name) => name.endsWith('.yaml'))) {
    const { spec } = documentsOf(
      readFileSync(path.join(directory, file), 'utf8'),
    )[0] as CustomResourceDefinition;
    for (const { name, schema } of spec.versions)
      validators.set(
        `${spec.group}/${name}/${spec.names.kind}`,
        validator(strict(schema.openAPIV3Schema, true)),
      );
  }
  return validators;
}

export function composeFile(directory: string): Validate {
  return validator(JSON.parse(readFileSync(path.join(directory, 'compose-spec.json'), 'utf8')));
}

/** Returns the documents of a YAML stream, except empty documents. @throws Error if a document is not YAML */
export function documentsOf(text: string): unknown[] {
  return parseAllDocuments(text, { merge: true })
    .map((document) => {
      if ('errors' in document && document.errors[0] !== undefined) throw document.errors[0];
      return (document as { toJS(): unknown }).toJS();
    })
    .filter((value) => value !== null);
}

function validator(schema: Schema): Validate {
  // ajv itself defines no formats. Compose's schema uses `unevaluatedProperties` of JSON Schema 2020-12.
  const { $schema: _, ...rest } = schema;
  const validate = new Ajv2020({
    strict: false,
    allErrors: true,
    validateFormats: false,
    code: { regExp },
  }).compile(rest);
  return (value) =>
    validate(value)
      ? []
      : (validate.errors ?? []).map(
          ({ instancePath, message, params }) =>
            `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
        );
}

/** Patterns use Go's syntax, in which (?i) makes the rest ignore case. JavaScript needs a flag instead. */
const regExp = Object.assign(
  (pattern: string, flags: string) =>
    new RegExp(pattern.replaceAll('(?i)', ''), pattern.includes('(?i)') ? `${flags}i` : flags),
  { code: 'new RegExp' },
);

/** Adds the API server's strict field validation: if a schema has properties, all others are errors. */
function strict(schema: Schema, root = false): Schema {
  const result: Schema = { ...schema };
  if (schema['x-kubernetes-int-or-string'] === true) {
    delete result.type;
    return { ...result, anyOf: [{ type: 'integer' }, { type: 'string' }] };
  }
  if (typeof schema.properties === 'object' && schema.properties !== null) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, member]) => [
        name,
        root && name === 'metadata' ? {} : strict(member as Schema),
      ]),
    );
    if (
      schema['x-kubernetes-preserve-unknown-fields'] !== true &&
      schema.additionalProperties === undefined
    )
      result.additionalProperties = false;
  }
  if (typeof schema.items === 'object') result.items = strict(schema.items as Schema);
  if (typeof schema.additionalProperties === 'object')
    result.additionalProperties = strict(schema.additionalProperties as Schema);
  return result;
}
