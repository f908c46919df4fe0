import * as v from 'valibot';
import { isObject } from '../../client/src/base/json/json-values.ts';

/** Validation errors: all of them at once, each with its place, what was found and what is allowed. */
export class InvalidSandboxInput extends Error {
  override readonly name = 'InvalidSandboxInput';
}

/** @throws InvalidSandboxInput with one line for each problem; `source` names what was read. */
export function validate<Output>(
  schema: v.GenericSchema<unknown, Output>,
  input: unknown,
  source: string,
): Output {
  const { success, output, issues } = v.safeParse(schema, input, { message: allowed });
  if (success) return output;
  const lines = issues.map(({ type, path = [], message }) => {
    const isUnknown = type === 'never';
    const steps = path.map(({ key }) =>
      typeof key === 'number' || (/[^\w$]/.test(String(key)) && !isUnknown)
        ? `[${JSON.stringify(key)}]`
        : `.${key}`,
    );
    const place = steps.join('').replace(/^\./, '') || '(whole document)';
    const { value } = path.at(-1) ?? { value: input };
    return `  ${place}: ${isUnknown ? message : `found ${shown(value)}; allowed: ${message}`}`;
  });
  throw new InvalidSandboxInput(`${source} is not valid:\n${lines.join('\n')}`);
}

/** Allowed values of a setting, unless its schema has a text of its own. */
function allowed({ type, requirement }: v.BaseIssue<unknown>): string {
  if (type === 'string') return 'text';
  if (type === 'boolean') return 'true or false';
  if (type === 'array') return 'a list';
  return `${requirement} or ${type.startsWith('min') ? 'more' : 'less'}`;
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

// Schemas of settings; `validate` has the texts that they lack.

export const number = v.custom<number>(Number.isFinite, 'a number');
const integer = v.pipe(number, v.custom<number>(Number.isInteger, 'a whole number'));
export const whole = (least: number, most: number = Number.MAX_SAFE_INTEGER) =>
  v.pipe(integer, v.minValue(least), v.maxValue(most));

export const oneOf = <const Text extends string>(texts: readonly Text[]) =>
  v.picklist(texts, texts.join(', '));

const UNKNOWN = v.never('unknown setting; remove it or correct its name');
const each = (names: readonly string[], schema: v.GenericSchema) =>
  Object.fromEntries(names.map((name) => [name, schema]));

/** Mapping with these settings alone. One that is missing is reported by its own schema. */
export function settings<const Entries extends v.ObjectEntries>(entries: Entries) {
  const known: v.ObjectEntries = { ...entries };
  for (const [name, schema] of Object.entries<v.GenericSchema>(entries))
    if (schema.type !== 'optional') known[name] = v.exactOptional(schema, () => undefined);
  const schema = v.lazy((input) => {
    if (!isObject(input)) return v.custom(isObject, 'a mapping of settings');
    const others = Object.keys(input).filter((name) => !Object.hasOwn(entries, name));
    return v.object({ ...known, ...each(others, UNKNOWN) });
  });
  return { ...schema, entries } as unknown as v.StrictObjectSchema<Entries, undefined>;
}

/** Settings of which none is needed. */
export function section<const Entries extends v.ObjectEntries>(entries: Entries) {
  const schema = settings(entries);
  return v.optional(schema, {} as v.InferInput<typeof schema>);
}

/** Mapping with any names: the library's own leaves some of them out. */
export const mappingOf = <Input, Output>(item: v.GenericSchema<Input, Output>) =>
  v.lazy((input) => {
    if (!isObject(input)) return v.custom<never>(isObject, 'a mapping');
    const names = Object.keys(input).filter((name) => name !== '__proto__');
    return v.object(each(names, item));
  }) as v.GenericSchema<Record<string, Input>, Record<string, Output>>;

// Values with their unit, as the policy file writes them: `250ms`, `1h`, `8MiB`.

function quantity(units: Readonly<Record<string, number>>, example: string) {
  const names = Object.keys(units);
  const error = `0, or a number with one of the units ${names.join(', ')} (such as ${example})`;
  const shape = new RegExp(`^(\\d+(?:\\.\\d+)?)(${names.join('|')})$`);
  return v.pipe(
    v.union([v.literal(0), v.literal('0'), v.pipe(v.string(), v.regex(shape, error))], error),
    v.transform((text): number => {
      const [, amount, unit = ''] = shape.exec(String(text)) ?? [];
      return Math.round(Number(amount ?? 0) * (units[unit] ?? 0));
    }),
  );
}

/** A length of time; milliseconds once parsed. */
export const duration = quantity(
  { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 },
  '250ms or 1h',
);

/** A size; bytes once parsed. */
export const byteSize = quantity({ B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }, '8MiB');
