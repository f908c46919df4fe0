/**
 * Building blocks of the configuration schema. Each option declares its description, allowed values
 * and default. Error messages, docs/configuration.md and the Helm chart's schema are generated from
 * them.
 */

import type { JsonSchema } from './json-schema.ts';

/** Reason why `parse` rejects a value, as a hint for the user. It may be empty. */
export class OptionRefusal extends Error {
  override readonly name = 'OptionRefusal';
}

/** Environment variables, and the directory from which relative paths start. */
export interface Origin {
  readonly env: NodeJS.ProcessEnv;
  readonly directory: string;
  /** True for a string in which variables have been replaced. */
  readonly isFilledIn?: boolean;
}

/** Suffix of a name in the typed configuration. For example, `maxAge: 30s` becomes `maxAgeMs: 30000`. */
export type Unit = '' | 'Ms' | 'Bytes';

/** Option with a value of type T. */
export interface Value<T, U extends Unit = Unit> {
  readonly kind: 'value';
  readonly help: string;
  /** Ends the message "expected …". */
  readonly allowed: string;
  /** Default, as a user would write it. Without a default, the option is required. */
  readonly fallback?: unknown;
  readonly isSecret?: boolean;
  /** JSON Schema that accepts every value that `parse` accepts, and as few others as possible. */
  readonly schema: JsonSchema;
  readonly unit: U;
  /** Returns a value as a user would write it. */
  show(value: T): string;
  /** Checks and converts a written value, which is not undefined. @throws OptionRefusal */
  parse(raw: unknown, origin: Origin): T;
}

/** Mapping of options. */
export interface Group<S extends Shape = Shape> {
  readonly kind: 'group';
  readonly help: string;
  readonly shape: S;
  /** True if the whole group may be absent, which leaves it undefined. */
  readonly isOptional?: boolean;
}

/** Groups under names that the user chooses. */
export interface Named<G extends Group = Group> {
  readonly kind: 'named';
  readonly help: string;
  readonly allowed: string;
  /** None by default. */
  readonly fallback: Readonly<Record<string, never>>;
  readonly item: G;
  /** Returns the reason why a name is not allowed; undefined if it is. */
  checkName(name: string): string | undefined;
}

/** List of groups with at least one entry. */
export interface List<O extends Option = Option> {
  readonly kind: 'list';
  readonly help: string;
  /** Maximum number of entries. */
  readonly most: number;
  readonly item: O;
}

export type Option = Value<unknown> | Group | Named | List;

interface Shape {
  readonly [name: string]: Option;
}

export type OutputName<O, K extends string> =
  O extends Value<unknown, infer U> ? (K extends `${string}${U}` ? K : `${K}${U}`) : K;

/** Typed configuration for a schema. */
export type Parsed<O> =
  O extends Group<infer S>
    ?
        | { readonly [K in keyof S & string as OutputName<S[K], K>]: Parsed<S[K]> }
        | (O extends { readonly isOptional: true } ? undefined : never)
    : O extends Named<infer G>
      ? Readonly<Record<string, Parsed<G>>>
      : O extends List<infer I>
        ? readonly Parsed<I>[]
        : O extends { parse(raw: unknown, origin: Origin): infer T }
          ? T
          : never;

type ValueSpec<T, U extends Unit> = Pick<Value<T, U>, 'help' | 'allowed' | 'parse' | 'schema'> &
  Partial<Pick<Value<T, U>, 'fallback' | 'isSecret' | 'unit' | 'show'>>;

export function value<T, U extends Unit = ''>(spec: ValueSpec<T, U>): Value<T, U> {
  return { kind: 'value', unit: '' as U, show: written, ...spec };
}

export function group<const S extends Shape>(help: string, shape: S): Group<S> {
  return { kind: 'group', help, shape };
}

export function listOf<O extends Option>(help: string, most: number, item: O): List<O> {
  return { kind: 'list', help, most, item };
}

/** Returns the name that the option `key` has in the typed configuration. */
export function outputName(key: string, option: Option): string {
  return option.kind !== 'value' || key.endsWith(option.unit) ? key : key + option.unit;
}

/** Returns a value or default as a user would write it. */
export function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
