/** The value of a source record as a JSON object, and what is wrong with it otherwise. Messages never show what it holds (I6). */
import { isUtf8 } from 'node:buffer';
import { mayLoseDigits, parseKeepingDigits } from '../core/exact-json.ts';
import type { Poison, PoisonReason } from '../core/record.ts';
import type { ContentEvent, EventFormat, ReadEvent } from './format.ts';

/** Values that are JSON objects. */
export const jsonFormat: EventFormat = { name: 'json', read: ({ value }) => parseObject(value) };

/** Never throws. */
export function parseObject(value: Buffer): ReadEvent {
  if (!isUtf8(value)) return poison('not_json', 'the value is not JSON: its bytes are not UTF-8');
  const text = value.toString('utf8');
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return poison('not_json', 'the value is not JSON');
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    return poison('not_an_object', `the value is JSON, but ${nameOf(document)} and not an object`);
  }
  return { event: new JsonEvent(document, text) };
}

/** The document is parsed a second time only for whoever needs all digits of a text that has numbers with so many. */
class JsonEvent implements ContentEvent {
  readonly document: object;
  readonly #text: string;

  constructor(document: object, text: string) {
    this.document = document;
    this.#text = text;
  }

  exact(): object | undefined {
    if (!mayLoseDigits(this.#text)) return this.document;
    try {
      return parseKeepingDigits(this.#text) as object;
    } catch {
      // The reviver recurses over the whole document, which may be as deep as it likes.
      return undefined;
    }
  }
}

export function poison(reason: PoisonReason, message: string): { readonly poison: Poison } {
  return { poison: { reason, message } };
}

/** The JSON type of a value, for messages. */
export function nameOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Whether anything in a value of JSON is a number. */
export function hasNumber(value: object): boolean {
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof member === 'number') return true;
    if (typeof member === 'object' && member !== null && hasNumber(member)) return true;
  }
  return false;
}
