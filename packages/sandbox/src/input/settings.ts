/** Schemas of settings; `validate` has the texts that they lack. */
import * as v from 'valibot';
import { isObject } from '../../../client/src/base/json/is-object.ts';

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
