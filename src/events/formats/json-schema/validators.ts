/** JSON Schema validators for drafts 06 to 2020-12. The library's own knows draft-07 alone, and stops at unknown keywords. */
import { Ajv, type Options, type SchemaObject, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { OWN_KEYWORDS } from './keywords.ts';

/** Formats are annotations by the newer drafts; one wrong place is enough for a dead letter. */
const OPTIONS: Options = {
  strict: false,
  validateFormats: false,
  allErrors: false,
  logger: false,
  addUsedSchema: false,
  code: { regExp: Object.assign(patternOf, { code: 'new RegExp' }) },
};

/**
 * Compiles a pattern. With Unicode few characters may be escaped, and older patterns escape more:
 * `[\w\-]`. Without it
 * `\p{L}` would be some letters and braces, so a pattern that needs it has it or is invalid.
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

/**
 * Stand-in for Ajv that starts over with each compiled schema: two subjects may name schemas
 * alike. The library adds the schemas that are referred to first.
 */
export function schemaCompiler() {
  let referred: (readonly [SchemaObject, string | undefined])[] = [];
  return {
    addSchema: (schema: SchemaObject, id?: string) => referred.push([schema, id]),
    compile(schema: SchemaObject): ValidateFunction {
      const others = referred;
      referred = [];
      const ajv = ajvFor(schema);
      for (const keyword of OWN_KEYWORDS) ajv.removeKeyword(keyword.keyword).addKeyword(keyword);
      for (const other of others) ajv.addSchema(...other);
      const validate = ajv.compile(schema);
      // It would return a promise, which is true, and rejects unhandled.
      if ('$async' in validate)
        throw new Error('it has the keyword $async, which JSON Schema does not have');
      return validate;
    },
  };
}

const DRAFTS: readonly (readonly [RegExp, () => Ajv])[] = [
  [/draft-07(?:\/schema)?$/, () => new Ajv(OPTIONS)],
  [/draft-06\/schema$/, () => new Ajv({ ...OPTIONS, validateSchema: false, meta: false })],
  [/2019-09\/schema$/, () => new Ajv2019(OPTIONS)],
  [/2020-12\/schema$/, () => new Ajv2020(OPTIONS)],
];

/** @throws Error for a draft that is not supported */
function ajvFor(schema: unknown): Ajv {
  const { $schema = 'draft-07' } = Object(schema) as { readonly $schema?: unknown };
  const draft = String($schema).replace(/#$/, '');
  const [, create] = DRAFTS.find(([pattern]) => pattern.test(draft)) ?? [];
  if (create === undefined)
    throw new Error('its $schema is not draft-06, draft-07, 2019-09 or 2020-12');
  return create();
}
