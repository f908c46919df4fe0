/** Values that are JSON. Messages never show their content (I6). */

import { hasEscapedKeys, parseEscapedKeys } from '../base/json/escaped-keys.ts';
import { mayLoseDigits } from '../base/json/exact-json.ts';
import { isObject } from '../base/json/is-object.ts';
import { textOf, valueLengthOf, valueTextOf } from '../core/bytes/record-view.ts';
import type { DeadLetterReason } from '../core/outcome/dead-letter-reason.ts';
import type { Poison } from '../core/record.ts';
import { parseExactly } from './expression/exact-number.ts';
import type { DecodedEvent, EventFormat, ReadEvent } from './format.ts';
import { hasTooManyMarks, MAX_MARKS } from './json-memory.ts';

/** Values that are JSON objects. */
export const jsonFormat: EventFormat = {
  name: 'json',
  read(record) {
    const hasTooMany = valueLengthOf(record) > MAX_MARKS && hasTooManyMarks(record.value);
    return eventOf(parseText(valueTextOf(record), hasTooMany), 'the value is JSON, but');
  },
};

/** Never throws. */
export function parseObject(value: Buffer): ReadEvent {
  return eventOf(parseJson(value), 'the value is JSON, but');
}

/** A value of JSON that was read. */
interface ParsedJson {
  readonly poison?: never;
  /** Value as JSON.parse gives it. */
  readonly document: unknown;
  /**
   * Gives the same with all digits of its numbers (`document` itself when none was lost);
   * undefined when it is nested too deeply for that.
   */
  exact(): unknown;
}

type ReadJson = ParsedJson | { readonly poison: Poison };

/** Never throws. */
export function parseJson(value: Buffer): ReadJson {
  return parseText(textOf(value), hasTooManyMarks(value));
}

/** @param text undefined: the bytes are not UTF-8 */
function parseText(text: string | undefined, hasTooMany: boolean): ReadJson {
  if (text === undefined)
    return poison('not_json', 'the value is not JSON: its bytes are not UTF-8');
  if (hasTooMany) {
    const message = `the value is JSON of more than ${MAX_MARKS} braces, brackets, commas and colons`;
    return poison('too_large', message);
  }
  try {
    return new JsonText(parsed(text), text);
  } catch {
    const mark = 'it begins with a byte order mark, which JSON does not allow';
    const why = text.startsWith('\ufeff') ? `: ${mark}` : '';
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

/** Text with its value. It is parsed again only where all digits of long numbers are needed. */
class JsonText implements ParsedJson {
  readonly document: unknown;
  readonly #text: string;

  constructor(document: unknown, text: string) {
    this.document = document;
    this.#text = text;
  }

  /** @returns undefined when the document is too deep: both parsers recurse */
  exact(): unknown {
    const text = this.#text;
    if (!mayLoseDigits(text)) return this.document;
    try {
      return hasEscapedKeys(text) ? parseEscapedKeys(text, parseExactly) : parseExactly(text);
    } catch {
      return undefined;
    }
  }
}

/** Event of a value that must be an object. @param found begins the message when it is not */
export function eventOf(read: ReadJson, found: string): ReadEvent {
  if (read.poison !== undefined) return read;
  if (!isObject(read.document))
    return poison('not_an_object', `${found} ${nameOf(read.document)} and not an object`);
  return { event: read as DecodedEvent };
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

/** True if a value of JSON is a number, or anything in it is. */
export function hasNumber(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'number';
  for (const name in value) if (hasNumber((value as JsonMembers)[name])) return true;
  return false;
}

type JsonMembers = Readonly<Record<string, unknown>>;
