/**
 * Functions of expressions that the library does not have, or not as they must be: its own would
 * order numbers by their digits, lose `__proto__`, or take minutes over a hostile text
 * (docs/mapping.md, "The library").
 */
import { isUtf8 } from 'node:buffer';
import { digitsOf, isKeptNumber, isNumberText } from '../../base/json/kept-number.ts';
import { objectOf } from '../../base/json/members.ts';
import { parseKeepingDigits } from '../../base/json/parse-json.ts';
import { lastHeader } from '../../core/record.ts';
import { asDouble, isSame } from './exact-number.ts';
import { EvaluationProblem, type EventInput } from './input.ts';

/** Longest text that an expression makes, in UTF-16 units: some would make gigabytes of a megabyte. */
export const MAX_TEXT = 16 * 1024 * 1024;
/** Largest count of replace(). */
const MAX_COUNT = 100_000;

/** Functions take their arguments as a list, which the library has checked by their signatures. */
type Run = (args: never) => unknown;
/** Evaluates the expression behind `&` for a value. */
type VisitReference = (reference: unknown, value: unknown) => unknown;
type Sortable = string | number;

/** Functions that stand in for those of the library, with the same signatures. */
export function replacements(
  visit: VisitReference,
  compare: (one: unknown, two: unknown) => void,
): Readonly<Record<string, Run>> {
  type OneList = readonly [readonly Sortable[]];
  type ListBy = readonly [readonly unknown[], unknown];
  const keysOf = ([list, by]: ListBy) => sortable(list.map((one) => asDouble(visit(by, one))));

  return {
    contains: ([where, what]: readonly [string | readonly unknown[], unknown]) =>
      typeof where === 'string'
        ? typeof what === 'string' && where.includes(what)
        : where.some((member) => isSame(member, what, compare)),
    from_items: ([items]: readonly [readonly (readonly unknown[])[]]) =>
      objectOf(items.map(pairOf)),
    group_by([list, by]: ListBy) {
      const groups = new Map<string, unknown[]>();
      for (const member of list) {
        const key = visit(by, member);
        if (typeof key !== 'string')
          throw new EvaluationProblem('what to group by must be a text for each entry');
        const group = groups.get(key);
        if (group === undefined) groups.set(key, [member]);
        else group.push(member);
      }
      return objectOf(groups);
    },
    join([glue, parts]: readonly [string, readonly string[]]) {
      assertFits(parts.reduce((length, part) => length + part.length + glue.length, 0));
      return parts.join(glue);
    },
    max: ([list]: OneList) => inOrder(list, list, -1)[0] ?? null,
    max_by: (args: ListBy) => inOrder(args[0], keysOf(args), -1)[0] ?? null,
    merge: (objects: readonly object[]) => objectOf(objects.flatMap(Object.entries)),
    min: ([list]: OneList) => inOrder(list, list)[0] ?? null,
    min_by: (args: ListBy) => inOrder(args[0], keysOf(args))[0] ?? null,
    pad_left: (args: Padding) => args[0].padStart(...paddingOf(args)),
    pad_right: (args: Padding) => args[0].padEnd(...paddingOf(args)),
    replace,
    sort: ([list]: OneList) => inOrder(list, list),
    sort_by: (args: ListBy) => inOrder(args[0], keysOf(args)),
    to_number: ([value]: readonly [unknown]) => toNumber(value),
    to_string: ([value]: readonly [unknown]) => toText(value),
    trim: (args: Trimming) => trimmed(args, true, true),
    trim_left: (args: Trimming) => trimmed(args, true, false),
    trim_right: (args: Trimming) => trimmed(args, false, true),
    type: ([value]: readonly [unknown]) => typeName(value),
  };
}

type RecordFunction = (input: EventInput, name: string) => string | number | null;

/** Functions that look at the record around the value. Only `header` has an argument. */
export const RECORD_FUNCTIONS: Readonly<Record<string, RecordFunction>> = {
  header: ({ record }, name) => textOf(lastHeader(record.headers, name)),
  key: ({ record }) => textOf(record.key),
  offset: ({ record }) => record.offset,
  partition: ({ record }) => record.partition,
  timestamp: ({ record }) => timestamp(record.timestampMs),
  topic: ({ topic }) => topic,
};

/** Returns null when there is no value, and for bytes that are not text. */
function textOf(value: Buffer | string | null | undefined): string | null {
  if (typeof value === 'string') return value;
  return value && isUtf8(value) ? value.toString('utf8') : null;
}

/** ISO 8601, UTC; null when the record has none. */
function timestamp(timestampMs: number): string | null {
  const date = new Date(timestampMs);
  return timestampMs < 0 || Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** The entries by their keys; those with equal keys stay in their order. @param sign -1: descending */
function inOrder<T>(list: readonly T[], keys: readonly Sortable[], sign = 1): T[] {
  const order = [...list.keys()];
  order.sort((a, b) => sign * compareKeys(keys[a] as Sortable, keys[b] as Sortable));
  return order.map((index) => list[index] as T);
}

/** Numbers by size, texts by code points. */
function compareKeys(one: Sortable, two: Sortable): number {
  if (typeof one === 'number') return one - (two as number);
  const other = two as string;
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at++;
  // Behind one half of a pair, the pairs differ.
  if (at > 0 && /[\uD800-\uDBFF]/.test(one[at - 1] as string)) at--;
  return (one.codePointAt(at) ?? -1) - (other.codePointAt(at) ?? -1);
}

/** @throws EvaluationProblem unless all are numbers, or all texts */
function sortable(keys: readonly unknown[]): readonly Sortable[] {
  if (['number', 'string'].some((type) => keys.every((key) => typeof key === type)))
    return keys as Sortable[];
  throw new EvaluationProblem(
    'what to order by must be a number for each entry, or a text for each',
  );
}

function replace([text, old, by, count]: readonly [string, string, string, number?]): string {
  if (count !== undefined) assertCount(count, 'a count', MAX_COUNT);
  const parts = text.split(old);
  const times = Math.min(count ?? Infinity, parts.length - 1);
  assertFits(text.length + times * (by.length - old.length));
  return [parts.slice(0, times + 1).join(by), ...parts.slice(times + 1)].join(old);
}

type Padding = readonly [text: string, width: number, pad?: string];

function paddingOf([, width, pad = ' ']: Padding): [number, string] {
  assertCount(width, 'a width', Infinity);
  if (pad.length > 2 || [...pad].length !== 1)
    throw new EvaluationProblem('what pads must be one character');
  assertFits(width);
  return [width, pad];
}

/** Returns null unless the value is a number of JSON, or the text of one. */
function toNumber(value: unknown): unknown {
  if (typeof value === 'number' || isKeptNumber(value)) return value;
  return typeof value === 'string' && isNumberText(value) ? parseKeepingDigits(value) : null;
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isKeptNumber(value)) return digitsOf(value);
  // The same large part of an event may be in it a million times.
  assertFits(writtenUnits(value, MAX_TEXT));
  return JSON.stringify(value);
}

/** Returns the least length of a value as JSON; stops once it is more than a limit. */
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

/** @throws EvaluationProblem unless it is a name and a value */
function pairOf(item: readonly unknown[]): readonly [string, unknown] {
  if (item.length === 2 && typeof item[0] === 'string') return [item[0], item[1]];
  throw new EvaluationProblem('from_items() takes pairs of a text and a value');
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isKeptNumber(value) ? 'number' : typeof value;
}

type Trimming = readonly [text: string, chars?: string];

function trimmed([text, chars = '']: Trimming, left: boolean, right: boolean): string {
  const set = new Set(chars);
  const goes = (at: number): boolean => {
    const character = text[at] as string;
    return set.size === 0 ? /[\s\u0085]/.test(character) : set.has(character);
  };
  let [from, to] = [0, text.length];
  while (left && from < to && goes(from)) from++;
  while (right && to > from && goes(to - 1)) to--;
  return text.slice(from, to);
}

function assertCount(count: number, what: string, most: number): void {
  if (Number.isInteger(count) && count >= 0 && count <= most) return;
  const to = Number.isFinite(most) ? `to ${most}` : 'on';
  throw new EvaluationProblem(`${what} must be a whole number from 0 ${to}`);
}

function assertFits(length: number): void {
  if (length > MAX_TEXT)
    throw new EvaluationProblem(`it would make a text of more than ${MAX_TEXT} characters`);
}
