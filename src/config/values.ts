/** Types of option values. Strings from `${NAME}` are accepted for numbers, flags and lists too. */
import { isObject } from '../../packages/client/src/base/json/json-values.ts';
import { type JsonSchema, mappingSchema, orVariable, textSchema } from './json-schema.ts';
import {
  OptionRefusal,
  type Origin,
  type OutputName,
  outputName,
  type Value,
  value,
} from './option.ts';
import {
  DURATIONS,
  formatBytes,
  formatDuration,
  parseBytes,
  parseDuration,
  SIZES,
} from './units.ts';

interface TextSpec {
  readonly help: string;
  readonly fallback?: string;
  readonly allowed: string;
  /** Pattern of the whole string. Default: any string that is not blank. */
  readonly pattern?: RegExp;
  /** Returns the reason why a string is not allowed, or undefined if it is allowed. */
  readonly check?: (text: string) => string | undefined;
}

export function text({ pattern = /\S/, check, ...spec }: TextSpec): Value<string, ''> {
  return value({
    ...spec,
    schema: textSchema(pattern),
    parse(raw) {
      if (typeof raw === 'number' || typeof raw === 'boolean')
        throw new OptionRefusal(`put quotes around it: "${raw}"`);
      if (typeof raw !== 'string' || !pattern.test(raw)) throw new OptionRefusal('');
      const objection = check?.(raw);
      if (objection !== undefined) throw new OptionRefusal(objection);
      return raw;
    },
  });
}

/** Makes an option optional. `word` is the default and means "none". The typed configuration then has undefined. */
export function optional<T>(option: Value<T, ''>, word = ''): Value<T | undefined, ''> {
  return {
    ...option,
    allowed: word === '' ? option.allowed : `${word}, or ${option.allowed}`,
    fallback: word,
    schema: { anyOf: [{ const: word }, option.schema] },
    show: (shown) => (shown === undefined ? word : option.show(shown)),
    parse: (raw, origin) => (raw === word ? undefined : option.parse(raw, origin)),
  };
}

/**
 * Option with a list. It may also be one string with commas, so that it can come from a variable.
 * @param fallback default; if undefined, at least one entry is required
 */
export function several<T>(
  item: Value<T, ''>,
  plural: string,
  fallback?: readonly T[],
): Value<readonly T[], ''> {
  return value({
    help: item.help,
    allowed: `a list of ${plural}, or one string with commas`,
    fallback,
    schema: {
      anyOf: [
        {
          type: 'array',
          items: orVariable(item.schema),
          ...(fallback === undefined && { minItems: 1 }),
        },
        { type: 'string' },
      ],
    },
    parse(raw, origin) {
      const entries = typeof raw === 'string' ? raw.split(',').map((entry) => entry.trim()) : raw;
      if (!Array.isArray(entries)) throw new OptionRefusal('');
      if (entries.length === 0 && fallback === undefined)
        throw new OptionRefusal('the list is empty');
      return entries.map((entry, index) => part(`entry ${index + 1}`, item, entry, origin));
    },
  });
}

/**
 * Option with a mapping of values by name.
 * @param checkName returns the reason why a name is not allowed, or undefined if it is allowed.
 * `others` has the names of earlier entries in lower case
 */
export function mapOf<T>(
  item: Value<T, ''>,
  allowed: string,
  checkName: (name: string, others: ReadonlySet<string>) => string | undefined = () => undefined,
): Value<Readonly<Record<string, T>>, ''> {
  return value({
    help: item.help,
    allowed,
    fallback: {},
    schema: { type: 'object', additionalProperties: orVariable(item.schema) },
    show: (entries) => {
      const shown = Object.entries(entries).map(([name, entry]) => `${name}: ${item.show(entry)}`);
      return `{${shown.join(', ')}}`;
    },
    parse(raw, origin) {
      const others = new Set<string>();
      return Object.fromEntries(
        Object.entries(mapping(raw)).map(([name, entry]) => {
          const objection = checkName(name, others);
          if (objection !== undefined) throw new OptionRefusal(`${name}: ${objection}`);
          others.add(name.toLowerCase());
          return [name, part(name, item, entry, origin)];
        }),
      );
    },
  });
}

/** Parses a value inside another value. @throws OptionRefusal whose message contains the name of the part */
export function part<T>(name: string, item: Value<T>, raw: unknown, origin: Origin): T {
  try {
    return item.parse(raw, origin);
  } catch (error) {
    if (!(error instanceof OptionRefusal)) throw error;
    throw new OptionRefusal(`${name}: ${error.message || `expected ${item.allowed}`}`);
  }
}

type Parts = Readonly<Record<string, Value<unknown>>>;

export const partsSchema = (parts: Parts) =>
  mappingSchema(
    Object.fromEntries(Object.entries(parts).map(([name, { schema }]) => [name, schema])),
  );

export type PartsOf<P extends Parts> = {
  readonly [K in keyof P & string as OutputName<P[K], K>]?: ReturnType<P[K]['parse']>;
};

/** Reads the members of an option's mapping. A key without a value counts as absent. @throws OptionRefusal */
export function members<P extends Parts>(raw: unknown, parts: P, origin: Origin): PartsOf<P> {
  const known = Object.keys(parts);
  const read = Object.entries(mapping(raw)).flatMap(([key, entry]) => {
    const option = Object.hasOwn(parts, key) ? parts[key] : undefined;
    if (option === undefined)
      throw new OptionRefusal(`${key} is unknown; known: ${known.join(', ')}`);
    return entry === null || entry === undefined
      ? []
      : [[outputName(key, option), part(key, option, entry, origin)]];
  });
  return Object.fromEntries(read) as PartsOf<P>;
}

/** Shows those parts of a mapping that are set, as a user would write them. */
export function shownParts(parts: Parts, given: object): string {
  const values = given as Readonly<Record<string, unknown>>;
  const shown = Object.entries(parts).flatMap(([name, option]) => {
    const one = values[outputName(name, option)];
    return one === undefined ? [] : [`${name}: ${option.show(one)}`];
  });
  return `{${shown.join(', ')}}`;
}

/** Option with a mapping that has some of these members. */
export function someOf<const P extends Parts>(help: string, parts: P): Value<PartsOf<P>, ''> {
  return value({
    help,
    allowed: `a mapping with some of ${Object.keys(parts).join(', ')}`,
    schema: partsSchema(parts),
    show: (given) => shownParts(parts, given),
    parse: (raw, origin) => members(raw, parts, origin),
  });
}

/** @throws OptionRefusal if the value is not a mapping */
export function mapping(raw: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(raw)) throw new OptionRefusal('');
  return raw;
}

/** Number options, with default, minimum and maximum. A number may also be written as a string. */
const numbers =
  (noun: string, type: 'integer' | 'number', written: RegExp) =>
  (help: string, fallback: number | undefined, min: number, max: number): Value<number, ''> =>
    value({
      help,
      fallback,
      allowed: `${noun} from ${min} to ${max}`,
      schema: {
        anyOf: [
          { type, minimum: min, maximum: max },
          { type: 'string', pattern: written.source },
        ],
      },
      parse(raw) {
        const amount = typeof raw === 'string' && written.test(raw) ? Number(raw) : raw;
        const isNumber = type === 'integer' ? Number.isInteger(amount) : typeof amount === 'number';
        return between(isNumber ? (amount as number) : NaN, min, max);
      },
    });

export const integer = numbers('a whole number', 'integer', /^\s*-?\d{1,15}\s*$/);
/** Option with a fraction of a whole. */
export const share = numbers('a number', 'number', /^\s*[01](\.\d{1,9})?\s*$/);

function between(amount: number, min: number, max: number): number {
  if (!(amount >= min && amount <= max)) throw new OptionRefusal('');
  return amount;
}

export function flag(help: string, fallback: boolean): Value<boolean, ''> {
  return value({
    help,
    fallback,
    allowed: 'true or false',
    schema: { enum: [true, false, 'true', 'false'] },
    parse(raw) {
      if (raw === true || raw === 'true') return true;
      if (raw === false || raw === 'false') return false;
      throw new OptionRefusal('');
    },
  });
}

/** @param fallback default of the option; by default the first choice */
export function choice<const C extends string>(
  help: string,
  of: readonly C[],
  fallback: C | undefined = of[0],
): Value<C, ''> {
  return value({
    help,
    fallback,
    allowed: `one of ${of.join(', ')}`,
    schema: { enum: of },
    parse(raw) {
      const found = of.find((known) => known === raw);
      if (found === undefined) throw new OptionRefusal('');
      return found;
    },
  });
}

const quantitySchema = (units: readonly string[]): JsonSchema => ({
  type: 'string',
  pattern: `^\\s*\\d{1,15}(\\.\\d{1,6})?\\s*(${units.join('|')})\\s*$`,
});

/** Option with a share in per cent, above 0. */
export function percentage(help: string, fallback: string): Value<number, ''> {
  const written = /^\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*$/;
  return value({
    help,
    fallback,
    allowed: 'a percentage up to 100 %, such as 1 %',
    schema: textSchema(written),
    show: (percent) => `${percent} %`,
    parse(raw) {
      if (typeof raw === 'number') throw new OptionRefusal(`write ${raw} %`);
      const percent = Number(typeof raw === 'string' ? written.exec(raw)?.[1] : undefined);
      return between(percent, Number.MIN_VALUE, 100);
    },
  });
}

/** Types of amounts with a unit. `min` and `max` are written like the default. */
const quantity =
  <U extends 'Ms' | 'Bytes'>(
    unit: U,
    noun: string,
    units: readonly string[],
    parse: (raw: unknown) => number,
    show: (amount: number) => string,
  ) =>
  (help: string, fallback: string, min: string, max: string): Value<number, U> =>
    value({
      help,
      fallback,
      unit,
      show,
      allowed: `${noun} from ${min} to ${max}, such as ${fallback} (units ${units.join(', ')})`,
      schema: quantitySchema(units),
      parse: (raw) => between(parse(raw), parse(min), parse(max)),
    });

/** Option with a duration. The typed configuration has milliseconds, with a name that ends in `Ms`. */
export const duration = quantity(
  'Ms',
  'a duration',
  Object.keys(DURATIONS),
  parseDuration,
  formatDuration,
);

/** Option with a size. The typed configuration has bytes, with a name that ends in `Bytes`. */
export const bytes = quantity('Bytes', 'a size', Object.keys(SIZES), parseBytes, formatBytes);
