/**
 * Functions of expressions that the library lacks, or whose implementation there is unsafe: it
 * would lose `__proto__`, or take minutes for a hostile text (docs/mapping.md, "The library").
 */

import { type InputSignature, TYPE_STRING } from '@jmespath-community/jmespath';
import {
  digitsOf,
  isKeptNumber,
  isNumberText,
} from '../../../packages/client/src/base/json/json-text.ts';
import { objectOf } from '../../../packages/client/src/base/json/json-values.ts';
import { parseKeepingDigits } from '../../../packages/client/src/base/json/parse-json.ts';
import { lastHeader } from '../../core/record.ts';
import { textOf } from '../format.ts';
import { EvaluationProblem, type EventInput } from './input.ts';

// Sizes and numbers of values in expressions.

/** Maximum length of a string that an expression creates, in UTF-16 units: 1 MB could become gigabytes. */
export const MAX_TEXT = 16 * 1024 * 1024;

/** Number of characters that cost one step. */
const CHARACTERS_A_STEP = 16;
/** Steps per member of an object: names are hashed, and large objects are slow. */
const STEPS_A_MEMBER = 8;

/** Converts a number that kept its digits to a double. Returns any other value unchanged. */
export function asDouble(value: unknown): unknown {
  return isKeptNumber(value) ? Number(digitsOf(value)) : value;
}

/** Returns the steps that a function spends on a value, by its entries, members or characters. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return Math.ceil(value.length / CHARACTERS_A_STEP);
  if (typeof value !== 'object' || value === null) return 0;
  if (!Array.isArray(value)) return Object.keys(value).length * STEPS_A_MEMBER;
  let size = value.length;
  for (const entry of value) if (typeof entry === 'string') size += sizeOf(entry);
  return size;
}

/** Returns the minimum length of a value as JSON. Stops once the length exceeds the limit. */
export function writtenUnits(value: unknown, limit: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (isKeptNumber(value)) return digitsOf(value).length;
  if (typeof value !== 'object' || value === null) return String(value).length;
  let units = 2;
  const isArray = Array.isArray(value);
  for (const name in value) {
    if (units > limit) break;
    units += isArray ? 1 : 4 + name.length;
    const member = (value as Readonly<Record<string, unknown>>)[name];
    units += writtenUnits(member, limit - units);
  }
  return units;
}

/** Functions of the library that are supported: those that combine parts of an event. */
export const OFFERED: ReadonlySet<string> = new Set([
  ...['contains', 'ends_with', 'join', 'keys', 'length', 'lower', 'merge', 'not_null', 'replace'],
  ...['split', 'starts_with', 'to_array', 'to_number', 'to_string', 'trim', 'type', 'upper'],
  'values',
]);

/** Signatures of functions that the library lacks, or to which this file adds arguments. */
export const SIGNATURES: Readonly<Record<string, InputSignature['types']>> = {
  header: [TYPE_STRING],
  key: [],
  replace: [TYPE_STRING, TYPE_STRING, TYPE_STRING],
  split: [TYPE_STRING, TYPE_STRING],
  timestamp: [],
  trim: [TYPE_STRING],
};

/** Maximum number of parts of a split string. More parts would exceed the steps of a record anyway. */
const MAX_PARTS = 2_000_000;

/** Part of an evaluator that the functions use. */
interface Evaluation {
  /** The current event. */
  readonly input: () => EventInput;
  readonly spend: (steps: number) => void;
}

/** Implementation of a function. The library has already checked the arguments against the signature. */
type Run = (args: never) => unknown;

export function functionsOf({ input, spend }: Evaluation): Readonly<Record<string, Run>> {
  return {
    contains: ([where, what]: readonly [string | readonly unknown[], unknown]) =>
      typeof where === 'string'
        ? typeof what === 'string' && where.includes(what)
        : where.map(asDouble).includes(asDouble(what)),
    header([name]: readonly [string]) {
      const { headers } = input().record;
      spend(headers.length);
      return textOf(lastHeader(headers, name)) ?? null;
    },
    join: ([glue, parts]: readonly [string, readonly string[]]) => joined(parts, glue),
    key: () => textOf(input().record.key) ?? null,
    length: ([value]: readonly [string | object]) =>
      typeof value === 'string' ? codePoints(value) : Object.keys(value).length,
    merge: (objects: readonly object[]) => objectOf(objects.flatMap(Object.entries)),
    replace: ([text, old, by]: readonly [string, string, string]) => joined(split(text, old), by),
    split: ([text, separator]: readonly [string, string]) => split(text, separator),
    timestamp: () => timestamp(input().record.timestampMs),
    to_number: ([value]: readonly [unknown]) => toNumber(value),
    to_string: ([value]: readonly [unknown]) => toText(value),
    trim: ([text]: readonly [string]) => text.trim(),
  };

  function split(text: string, separator: string): readonly string[] {
    const parts = text.split(separator, MAX_PARTS);
    spend(parts.length);
    return parts;
  }
}

/** Returns the time in ISO 8601 (UTC), or null if the record has none. */
function timestamp(timestampMs: number): string | null {
  const date = new Date(timestampMs);
  return timestampMs < 0 || Number.isNaN(date.getTime()) ? null : date.toISOString();
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function joined(parts: readonly string[], glue: string): string {
  assertFits(parts.reduce((length, part) => length + part.length + glue.length, 0));
  return parts.join(glue);
}

/** Returns null unless the value is a JSON number or a string that contains one. */
function toNumber(value: unknown): unknown {
  if (typeof value === 'number' || isKeptNumber(value)) return value;
  return typeof value === 'string' && isNumberText(value) ? parseKeepingDigits(value) : null;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  // An expression may put the same large part of an event into its value a million times.
  assertFits(writtenUnits(value, MAX_TEXT));
  return JSON.stringify(value);
}

function assertFits(length: number): void {
  if (length > MAX_TEXT)
    throw new EvaluationProblem(`its result would be a string of more than ${MAX_TEXT} characters`);
}
