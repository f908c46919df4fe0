/** Reads fields out of a JSON answer: strict about what the engine cannot do without, tolerant about everything else. */

import { shownCode } from '../base/shown-code.ts';
import { parseWebAddress } from '../http/presigned-address.ts';

/** An answer lacks what the interface promises. The message names the field, never its value. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
}

export type Fields = Readonly<Record<string, unknown>>;

/** @throws ProtocolViolation when the answer is not a JSON object. */
export function fieldsOf(json: unknown): Fields {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new ProtocolViolation('the body is not a JSON object');
  return json as Fields;
}

/** @throws ProtocolViolation unless the field is a string with something in it. */
export function requiredText(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw new ProtocolViolation(`${name} is missing`);
  return value;
}

/**
 * A status as it is spelled: what is not shaped like one may be anything, content too, and statuses are logged and shown (I6).
 * @param name the field to name in an error, when it was found under another
 * @throws ProtocolViolation unless the field is a string with something in it.
 */
export function requiredStatus(fields: Fields, field: string, name = field): string {
  const text = optionalText(fields, field)?.trim();
  if (!text) throw new ProtocolViolation(`${name} is missing`);
  return shownCode(text) ?? `a status of ${text.length} characters, which is not shaped like one`;
}

/** An id that can stand in a path. @throws ProtocolViolation */
export function requiredId(fields: Fields, name: string): string {
  const id = requiredText(fields, name);
  if (!isPathSegment(id)) throw new ProtocolViolation(`${name} cannot stand in a path`);
  return id;
}

/** A presigned address. @throws ProtocolViolation unless it is an absolute http(s) address. */
export function requiredAddress(fields: Fields, name: string): string {
  const text = requiredText(fields, name);
  if (parseWebAddress(text) === undefined)
    throw new ProtocolViolation(`${name} is not an http(s) address`);
  return text;
}

export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
}

/** A count: undefined when absent, or not a number that can count. */
export function optionalCount(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Whether a path can be made with this id: dot segments would name another resource, lone surrogates cannot be escaped. */
export function isPathSegment(id: unknown): id is string {
  return (
    typeof id === 'string' &&
    id.length > 0 &&
    id.length <= 1024 &&
    id !== '.' &&
    id !== '..' &&
    id.isWellFormed()
  );
}
