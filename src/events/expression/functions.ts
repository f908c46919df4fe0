/**
 * Functions of expressions that the library does not have, or not as they must be: its own would order numbers by their digits,
 * lose `__proto__`, or take minutes over a hostile text (docs/mapping.md, "The library").
 */
import type { FunctionSignature, InputSignature } from '@jmespath-community/jmespath';
import {
  TYPE_ANY,
  TYPE_ARRAY,
  TYPE_ARRAY_NUMBER,
  TYPE_ARRAY_STRING,
  TYPE_EXPREF,
  TYPE_NUMBER,
  TYPE_OBJECT,
  TYPE_STRING,
} from '@jmespath-community/jmespath';
import { isKeptNumber, isNumberText, parseKeepingDigits } from '../../base/exact-json.ts';
import { isSame } from './equality.ts';
import { asDouble, settled } from './exact-number.ts';
import { EvaluationProblem } from './problem.ts';

/** Longest text that an expression makes, in UTF-16 units: some functions could make gigabytes of a megabyte. */
const MAX_TEXT = 16 * 1024 * 1024;
/** Most times that replace() may be told to replace. */
const MAX_COUNT = 100_000;

type Run = (args: never) => unknown;
/** Evaluates the expression behind `&` for a value. */
export type VisitReference = (reference: unknown, value: unknown) => unknown;
type Types = InputSignature['types'];

const one = (...types: Types): InputSignature => ({ types });
const optional = (...types: Types): InputSignature => ({ types, optional: true });

export function signature(run: Run, ...signatures: InputSignature[]): FunctionSignature {
  return { _func: run as FunctionSignature['_func'], _signature: signatures };
}

export function ownFunctions(
  visit: VisitReference,
  compare: (one: unknown, two: unknown) => void,
): Readonly<Record<string, FunctionSignature>> {
  const trimming = (run: (text: string, chars: string) => string) =>
    signature(
      ([text, chars = '']: readonly string[]) => run(text ?? '', chars),
      one(TYPE_STRING),
      optional(TYPE_STRING),
    );
  const padding = (run: (text: string, width: number, pad: string) => string) =>
    signature(
      ([text, width, pad]: readonly [string, number, string?]) => {
        if (!Number.isInteger(width) || width < 0)
          throw new EvaluationProblem('a width must be a whole number from 0 on');
        if (pad !== undefined && [...pad].length !== 1)
          throw new EvaluationProblem('what pads must be one character');
        assertFits(width);
        return run(text, width, pad ?? ' ');
      },
      one(TYPE_STRING),
      one(TYPE_NUMBER),
      optional(TYPE_STRING),
    );
  const extreme = (sign: 1 | -1) =>
    signature(
      ([list]: readonly [readonly Sortable[]]) => best(list, list, sign),
      one(TYPE_ARRAY_NUMBER, TYPE_ARRAY_STRING),
    );
  const extremeBy = (sign: 1 | -1) =>
    signature(
      ([list, by]: readonly [readonly unknown[], unknown]) =>
        best(list, keysOf(list, by, visit), sign),
      one(TYPE_ARRAY),
      one(TYPE_EXPREF),
    );

  return {
    contains: signature(
      ([where, what]: readonly [string | readonly unknown[], unknown]) =>
        typeof where === 'string'
          ? typeof what === 'string' && where.includes(what)
          : where.some((member) => isSame(member, what, compare)),
      one(TYPE_STRING, TYPE_ARRAY),
      one(TYPE_ANY),
    ),
    group_by: signature(groupBy(visit), one(TYPE_ARRAY), one(TYPE_EXPREF)),
    join: signature(
      ([glue, parts]: readonly [string, readonly string[]]) => {
        assertFits(parts.reduce((length, part) => length + part.length + glue.length, 0));
        return parts.join(glue);
      },
      one(TYPE_STRING),
      one(TYPE_ARRAY_STRING),
    ),
    max: extreme(1),
    max_by: extremeBy(1),
    merge: signature(
      (objects: readonly object[]) =>
        Object.fromEntries(objects.flatMap((object) => Object.entries(object))),
      {
        types: [TYPE_OBJECT],
        variadic: true,
      },
    ),
    min: extreme(-1),
    min_by: extremeBy(-1),
    pad_left: padding((text, width, pad) => text.padStart(width, pad)),
    pad_right: padding((text, width, pad) => text.padEnd(width, pad)),
    replace: signature(
      replace,
      one(TYPE_STRING),
      one(TYPE_STRING),
      one(TYPE_STRING),
      optional(TYPE_NUMBER),
    ),
    sort: signature(
      ([list]: readonly [readonly Sortable[]]) => [...list].sort(inOrder),
      one(TYPE_ARRAY_STRING, TYPE_ARRAY_NUMBER),
    ),
    sort_by: signature(
      ([list, by]: readonly [readonly unknown[], unknown]) => {
        const keys = keysOf(list, by, visit);
        const order = list.map((_, index) => index);
        return order
          .sort((a, b) => inOrder(keys[a] ?? 0, keys[b] ?? 0))
          .map((index) => list[index]);
      },
      one(TYPE_ARRAY),
      one(TYPE_EXPREF),
    ),
    to_number: signature(([value]: readonly [unknown]) => toNumber(value), one(TYPE_ANY)),
    trim: trimming((text, chars) => trimmed(text, chars, true, true)),
    trim_left: trimming((text, chars) => trimmed(text, chars, true, false)),
    trim_right: trimming((text, chars) => trimmed(text, chars, false, true)),
  };
}

type Sortable = string | number;

/** Numbers by size, texts by code points. */
function inOrder(one: Sortable, two: Sortable): number {
  if (typeof one === 'number') return one - (two as number);
  const other = two as string;
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at++;
  // Behind one half of a pair, the pairs differ.
  if (at > 0 && /[\uD800-\uDBFF]/.test(one[at - 1] as string)) at--;
  return (one.codePointAt(at) ?? -1) - (other.codePointAt(at) ?? -1);
}

/** @throws EvaluationProblem unless all are numbers, or all texts */
function keysOf(list: readonly unknown[], by: unknown, visit: VisitReference): readonly Sortable[] {
  const keys = list.map((member) => asDouble(visit(by, member)));
  const [first] = keys;
  if (
    keys.some(
      (key) => (typeof key !== 'string' && typeof key !== 'number') || typeof key !== typeof first,
    )
  ) {
    throw new EvaluationProblem(
      'what to order by must be a number for each entry, or a text for each',
    );
  }
  return keys as Sortable[];
}

/** The first entry with the largest key, or with sign -1 the smallest; null of none. */
function best(list: readonly unknown[], keys: readonly Sortable[], sign: 1 | -1): unknown {
  let at = 0;
  for (let index = 1; index < keys.length; index++) {
    if (sign * inOrder(keys[index] as Sortable, keys[at] as Sortable) > 0) at = index;
  }
  return list[at] ?? null;
}

function groupBy(visit: VisitReference): Run {
  return ([list, by]: readonly [readonly unknown[], unknown]) => {
    const groups = new Map<string, unknown[]>();
    for (const member of list) {
      const key = visit(by, member);
      if (typeof key !== 'string')
        throw new EvaluationProblem('what to group by must be a text for each entry');
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [member]);
      else group.push(member);
    }
    return Object.fromEntries(groups);
  };
}

function replace([text, old, by, count]: readonly [string, string, string, number?]): string {
  if (count !== undefined && (!Number.isInteger(count) || count < 0 || count > MAX_COUNT)) {
    throw new EvaluationProblem(`a count must be a whole number from 0 to ${MAX_COUNT}`);
  }
  const parts = text.split(old);
  const times = Math.min(count ?? Number.POSITIVE_INFINITY, parts.length - 1);
  assertFits(text.length + times * (by.length - old.length));
  const [replaced, rest] = [parts.slice(0, times + 1), parts.slice(times + 1)];
  return [replaced.join(by), ...rest].join(old);
}

/** null for what is no number of JSON. */
function toNumber(value: unknown): unknown {
  if (typeof value === 'number' || isKeptNumber(value)) return value;
  return typeof value === 'string' && isNumberText(value)
    ? settled(parseKeepingDigits(value))
    : null;
}

const isBlank = (character: string): boolean => character === '\u0085' || character.trim() === '';

function trimmed(text: string, chars: string, left: boolean, right: boolean): string {
  const set = new Set(chars);
  const goes = (at: number): boolean => {
    const character = text[at] ?? '';
    return set.size === 0 ? isBlank(character) : set.has(character);
  };
  let [from, to] = [0, text.length];
  while (left && from < to && goes(from)) from++;
  while (right && to > from && goes(to - 1)) to--;
  return text.slice(from, to);
}

function assertFits(length: number): void {
  if (length > MAX_TEXT)
    throw new EvaluationProblem(`it would make a text of more than ${MAX_TEXT} characters`);
}
