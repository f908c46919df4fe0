/** Memory that a value of JSON takes: `{}` is two bytes of text, and an object over sixty. */
import { MAX_DEPTH } from '../base/json/json-depth.ts';

/**
 * Most marks of structure that a JSON text may have: so many objects, members and items take some
 * tens of megabytes, and less than a second. A shorter text has fewer.
 */
export const MAX_MARKS = 2 ** 20;

const [QUOTE, BACKSLASH] = Buffer.from('"\\');
const MARKS: ReadonlySet<number | undefined> = new Set(Buffer.from(',:[{'));

/** True if a JSON text has more braces, brackets, commas and colons outside strings than allowed. */
export function hasTooManyMarks(text: Buffer): boolean {
  if (text.length <= MAX_MARKS) return false;
  let marks = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else inString = byte !== QUOTE;
    } else if (byte === QUOTE) inString = true;
    else if (MARKS.has(byte) && ++marks > MAX_MARKS) return true;
  }
  return false;
}

/** Measured: `{}` takes 64 in its list, `[]` 37. */
const CONTAINER_BYTES = 64;
/** Place of a member, and the cost of a short text or a double beyond its characters. */
const MEMBER_BYTES = 16;

/** @returns bytes. @param value nested no deeper than a mapping allows */
export function memoryBesideText(value: object): number {
  let bytes = CONTAINER_BYTES;
  for (const name in value) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    bytes += MEMBER_BYTES;
    if (typeof member === 'object' && member !== null) bytes += memoryBesideText(member);
  }
  return bytes;
}

/**
 * Bytes of a value of JSON as UTF-8, escapes and levels beyond `levels` not counted; stops once
 * they are more than `limit`.
 */
export function jsonBytes(value: unknown, limit: number, levels = MAX_DEPTH): number {
  if (typeof value === 'string') return Buffer.byteLength(value) + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  let bytes = 2;
  if (levels === 0) return bytes;
  const isArray = Array.isArray(value);
  for (const name in value) {
    if (bytes > limit) break;
    bytes += isArray ? 1 : 4 + Buffer.byteLength(name);
    const member = (value as Readonly<Record<string, unknown>>)[name];
    bytes += jsonBytes(member, limit - bytes, levels - 1);
  }
  return bytes;
}
