/** JSON Schema validators for the drafts that people register. The library's own knows draft-07 alone, and stops at keywords that it does not. */
import {
  Ajv,
  type FuncKeywordDefinition,
  type Options,
  type SchemaObject,
  type ValidateFunction,
} from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isMultipleOf } from './multiple-of.ts';
import { hasUniqueItems } from './unique-items.ts';

/** Formats are annotations by the newer drafts; of several wrong places one is enough for a dead letter. */
const OPTIONS: Options = {
  strict: false,
  validateFormats: false,
  allErrors: false,
  logger: false,
  addUsedSchema: false,
  code: { regExp: Object.assign(patternOf, { code: 'new RegExp' }) },
};

/**
 * With Unicode only what must be is escaped, and older patterns escape more: `[\w\-]`. Without it `\p{L}` would be some letters and
 * braces, so a pattern that needs it has it or is none.
 * @throws SyntaxError
 */
function patternOf(pattern: string): RegExp {
  const minimal = pattern.replace(/\\(.)/gsu, (written, character: string) =>
    /[-!"#%&',:;<=>@_`~ ]/.test(character) ? `\\x${character.charCodeAt(0).toString(16)}` : written,
  );
  try {
    return new RegExp(minimal, 'u');
  } catch (error) {
    if (/\\[pP]|\\u\{/.test(pattern)) throw error;
    return new RegExp(pattern);
  }
}

/** What the library wants of an instance of Ajv: schemas that are referred to, then the one that refers to them. */
export interface SchemaCompiler {
  addSchema(schema: unknown, id?: string): unknown;
  compile(schema: unknown): ValidateFunction;
}

/** A compiler that begins anew with each compiled schema: two subjects may have schemas of the same name. */
export function schemaCompiler(): SchemaCompiler {
  let referred: { readonly schema: SchemaObject; readonly id: string | undefined }[] = [];
  return {
    addSchema: (schema, id) => referred.push({ schema: schema as SchemaObject, id }),
    compile: (schema) => {
      const others = referred;
      referred = [];
      const ajv = ajvFor(schema);
      for (const keyword of OWN_KEYWORDS)
        ajv.removeKeyword(keyword.keyword as string).addKeyword(keyword);
      for (const { schema: other, id } of others) ajv.addSchema(other, id);
      const validate = ajv.compile(schema as SchemaObject);
      // A keyword of Ajv's own: its answer would be a promise, which is true, and whose rejection nobody catches.
      if ('$async' in validate)
        throw new Error('it has the keyword $async, which is no keyword of JSON Schema');
      return validate;
    },
  };
}

const MULTIPLE_OF: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  errors: false,
  compile(factor: number) {
    if (!(factor > 0 && factor < Number.POSITIVE_INFINITY))
      throw new Error('it has a multipleOf that is no number above 0');
    return (value: number) => isMultipleOf(value, factor);
  },
};

const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  errors: false,
  compile: (wanted: boolean) => (items: readonly unknown[]) => !wanted || hasUniqueItems(items),
};

const OWN_KEYWORDS = [MULTIPLE_OF, UNIQUE_ITEMS];

/** @throws Error for a draft that is not supported */
function ajvFor(schema: unknown): Ajv {
  const draft = String(
    (schema as { readonly $schema?: unknown } | null)?.$schema ?? 'draft-07',
  ).replace(/#$/, '');
  if (draft.endsWith('draft-07') || draft.endsWith('draft-07/schema')) return new Ajv(OPTIONS);
  if (draft.endsWith('draft-06/schema'))
    return new Ajv({ ...OPTIONS, validateSchema: false, meta: false });
  if (draft.endsWith('2019-09/schema')) return new Ajv2019(OPTIONS);
  if (draft.endsWith('2020-12/schema')) return new Ajv2020(OPTIONS);
  throw new Error(`its $schema is none of draft-06, draft-07, 2019-09 and 2020-12`);
}
