/** The value of a source record as a JSON object, and what is wrong with it otherwise. Messages never show what it holds (I6). */
import { isUtf8 } from 'node:buffer';
import { isKeptNumber, mayLoseDigits, parseKeepingDigits } from '../core/exact-json.ts';
import type { Poison, PoisonReason } from '../core/record.ts';
import { type Path, valueAt } from './path.ts';

export type ParsedEvent =
  | { readonly document: object; readonly text: string; readonly poison?: never }
  | { readonly document?: never; readonly text?: never; readonly poison: Poison };

/** Never throws. */
export function parseObject(value: Buffer): ParsedEvent {
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
  return { document, text };
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

/**
 * The object at a path of an event, whose numbers keep their digits.
 * @param plain the same as `JSON.parse` reads it
 * @returns undefined when the event is nested too deeply for that
 */
export function withExactNumbers(plain: object, text: string, path: Path): object | undefined {
  return hasNumber(plain) && mayLoseDigits(text) ? keepDigits(text, path) : plain;
}

function hasNumber(value: object): boolean {
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof member === 'number') return true;
    if (typeof member === 'object' && member !== null && hasNumber(member)) return true;
  }
  return false;
}

/** The reviver recurses over the whole document, which outside the path may be as deep as it likes. */
function keepDigits(text: string, path: Path): object | undefined {
  try {
    const part = valueAt(parseKeepingDigits(text) as object, path);
    return typeof part === 'object' && part !== null && !isKeptNumber(part) ? part : undefined;
  } catch {
    return undefined;
  }
}
