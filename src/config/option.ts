/**
 * The building blocks of the schema. Every option says for itself what it is for, what it allows and what holds without it;
 * error messages and docs/configuration.md are made from that.
 */
import { z } from 'zod';
import { Refusal } from './units.ts';

/** Ends of the names of options in the typed configuration: `maxAge: 30s` becomes `maxAgeMs: 30000`. */
export type Unit = '' | 'Ms' | 'Bytes';

export interface ValueInfo {
  readonly kind: 'value';
  readonly help: string;
  readonly allowed: string;
  /** As the user would write it. Absent: the option is required. */
  readonly fallback?: string;
  readonly secret: boolean;
  readonly unit: Unit;
  /** The way back, for showing what is in effect. */
  readonly show: (value: unknown) => string;
}

export interface GroupInfo {
  readonly kind: 'group';
  readonly help: string;
  readonly shape: Shape;
}

export interface ListInfo {
  readonly kind: 'list';
  readonly help: string;
  readonly item: z.ZodType;
}

export type OptionInfo = ValueInfo | GroupInfo | ListInfo;

const INFO = new WeakMap<z.ZodType, OptionInfo>();

/** What was said about a schema made here. @throws Error for any other. */
export function infoOf(schema: z.ZodType): OptionInfo {
  const info = INFO.get(schema);
  if (info === undefined) throw new Error('this schema was not made by option.ts');
  return info;
}

/** An option of type T whose name in the typed configuration ends in U. */
export type ValueOption<T, U extends Unit = ''> = z.ZodType<T> & { readonly unit?: U };
type Shape = Readonly<Record<string, z.ZodType>>;

type Ending<S, K extends string> = S extends { readonly unit?: infer U }
  ? U extends 'Ms' | 'Bytes'
    ? K extends `${string}${U}`
      ? K
      : `${K}${U}`
    : K
  : K;
/** What a group parses to. */
export type GroupOutput<S extends Shape> = {
  readonly [K in keyof S & string as Ending<S[K], K>]: z.output<S[K]>;
};

export interface ValueSpec<T, U extends Unit = ''> {
  readonly help: string;
  /** Completes "expected …". */
  readonly allowed: string;
  /** What holds when the option is not written, as the user would write it. Absent: required. */
  readonly fallback?: unknown;
  readonly secret?: boolean;
  readonly unit?: U;
  readonly show?: (value: T) => string;
  /** What was written, checked and converted. `undefined` never arrives here. */
  readonly parse: (raw: unknown) => T | Refusal;
}

/** One option with a value. */
export function value<T, U extends Unit = ''>(spec: ValueSpec<T, U>): ValueOption<T, U> {
  const parsed = z.unknown().transform((raw, context): T => {
    const result = raw === undefined ? new Refusal('') : spec.parse(raw);
    if (!(result instanceof Refusal)) return result;
    context.addIssue({ code: 'custom', params: { hint: result.hint } });
    return z.NEVER;
  });
  const schema = spec.fallback === undefined ? parsed : parsed.prefault(spec.fallback);
  INFO.set(schema, {
    kind: 'value',
    help: spec.help,
    allowed: spec.allowed,
    secret: spec.secret ?? false,
    unit: spec.unit ?? '',
    show: (shown) => (spec.show === undefined ? plain(shown) : spec.show(shown as T)),
    ...(spec.fallback === undefined ? {} : { fallback: plain(spec.fallback) }),
  });
  return schema as unknown as ValueOption<T, U>;
}

/** A mapping of options. Without it in the document its options have their defaults; a key without value counts as not written. */
export function group<const S extends Shape>(help: string, shape: S): z.ZodType<GroupOutput<S>> {
  const endings = Object.entries(shape).map(([key, schema]): [string, string] => [
    key,
    outputName(key, schema),
  ]);
  const schema = z
    .preprocess(withoutEmptyKeys, z.strictObject(shape))
    .transform((parsed) =>
      Object.fromEntries(
        endings.map(([key, name]) => [name, (parsed as Record<string, unknown>)[key]]),
      ),
    )
    .prefault({});
  INFO.set(schema, { kind: 'group', help, shape });
  return schema as unknown as z.ZodType<GroupOutput<S>>;
}

/** A list of groups, at least one. */
export function listOf<T>(help: string, item: z.ZodType<T>): z.ZodType<readonly T[]> {
  const schema = z.array(item).min(1);
  INFO.set(schema, { kind: 'list', help, item });
  return schema;
}

/** The same group, with something worked out from its options once they are all known to be right. */
export function derive<T, R>(schema: z.ZodType<T>, work: (parsed: T) => R): z.ZodType<R> {
  const derived = schema.transform(work);
  INFO.set(derived, infoOf(schema));
  return derived;
}

/** Name in the typed configuration of an option called `key`. */
export function outputName(key: string, schema: z.ZodType): string {
  const info = infoOf(schema);
  return info.kind !== 'value' || key.endsWith(info.unit) ? key : key + info.unit;
}

function withoutEmptyKeys(raw: unknown): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw ?? undefined;
  return Object.fromEntries(Object.entries(raw).map(([key, entry]) => [key, entry ?? undefined]));
}

function plain(shown: unknown): string {
  return typeof shown === 'string' ? shown : JSON.stringify(shown);
}
