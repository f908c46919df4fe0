/** The value of a source record as a JSON object, and what is wrong with it otherwise. Messages never show what it holds (I6). */

import { hasEscapedKeys, parseEscapedKeys } from '../base/escaped-keys.ts';
import { mayLoseDigits, parseKeepingDigits } from '../base/exact-json.ts';
import { valueLengthOf, valueTextOf } from '../core/bytes/record-view.ts';
import { textOf } from '../core/bytes/utf8.ts';
import type { DeadLetterReason, Poison } from '../core/record.ts';
import { settled } from './expression/exact-number.ts';
import type { ContentEvent, EventFormat, ReadEvent } from './format.ts';
import { hasTooManyMarks, MAX_MARKS } from './json-memory.ts';

/** Values that are JSON objects. */
export const jsonFormat: EventFormat = {
  name: 'json',
  read: (record) =>
    objectOf(
      parseText(
        valueTextOf(record),
        valueLengthOf(record) > MAX_MARKS && hasTooManyMarks(record.value),
      ),
    ),
};

/** Never throws. */
export function parseObject(value: Buffer): ReadEvent {
  return objectOf(parseJson(value));
}

/** A JSON text that was read. */
export interface JsonValueRead {
  readonly poison?: never;
  /** As JSON.parse gives it. */
  readonly plain: unknown;
  /** The same with all digits of its numbers (`plain` itself when none was lost); undefined when it is nested too deeply for that. */
  exact(): unknown;
}

/** Never throws. */
export function parseJson(value: Buffer): JsonValueRead | { readonly poison: Poison } {
  return parseText(textOf(value), hasTooManyMarks(value));
}

/** @param text undefined: the bytes are not UTF-8 */
function parseText(
  text: string | undefined,
  hasTooMany: boolean,
): JsonValueRead | { readonly poison: Poison } {
  if (text === undefined)
    return poison('not_json', 'the value is not JSON: its bytes are not UTF-8');
  if (hasTooMany)
    return poison(
      'too_large',
      `the value is JSON of more than ${MAX_MARKS} braces, brackets, commas and colons`,
    );
  try {
    return new JsonText(parsed(text), text);
  } catch {
    const why = text.startsWith('\ufeff')
      ? ': it begins with a byte order mark, which JSON does not allow'
      : '';
    return poison('not_json', `the value is not JSON${why}`);
  }
}

/** @throws SyntaxError on a text that is not JSON */
function parsed(text: string): unknown {
  const plain: unknown = JSON.parse(text);
  if (!hasEscapedKeys(text)) return plain;
  try {
    return parseEscapedKeys(text, JSON.parse);
  } catch {
    // It is nested more deeply than any part of it may be that a mapping finds.
    return plain;
  }
}

function objectOf(read: ReturnType<typeof parseText>): ReadEvent {
  if (read.poison !== undefined) return read;
  const { plain } = read;
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    return poison('not_an_object', `the value is JSON, but ${nameOf(plain)} and not an object`);
  }
  return { event: new JsonEvent(plain, read) };
}

/** Parsed a second time only for whoever needs all digits of a text that has numbers with so many. */
class JsonText implements JsonValueRead {
  readonly plain: unknown;
  readonly #text: string;

  constructor(plain: unknown, text: string) {
    this.plain = plain;
    this.#text = text;
  }

  exact(): unknown {
    if (!mayLoseDigits(this.#text)) return this.plain;
    try {
      const text = this.#text;
      return settled(
        hasEscapedKeys(text)
          ? parseEscapedKeys(text, parseKeepingDigits)
          : parseKeepingDigits(text),
      );
    } catch {
      // Both recurse over the whole document, which may be as deep as it likes.
      return undefined;
    }
  }
}

class JsonEvent implements ContentEvent {
  readonly document: object;
  readonly #read: JsonValueRead;

  constructor(document: object, read: JsonValueRead) {
    this.document = document;
    this.#read = read;
  }

  exact(): object | undefined {
    return this.#read.exact() as object | undefined;
  }
}

export function poison(reason: DeadLetterReason, message: string): { readonly poison: Poison } {
  return { poison: { reason, message } };
}

/** The JSON type of a value, for messages. */
export function nameOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Whether a value of JSON is a number, or anything in it is. */
export function hasNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'number';
  if (Array.isArray(value)) return value.some(hasNumber);
  for (const name in value)
    if (hasNumber((value as Readonly<Record<string, unknown>>)[name])) return true;
  return false;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
