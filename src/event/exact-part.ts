/** A part of an event whose numbers keep their digits. */
import { isKeptNumber } from '../core/exact-json.ts';
import type { ContentEvent } from './format.ts';
import { hasNumber } from './json-event.ts';

/**
 * @param plain what `find` gave for the document
 * @returns undefined when the event is nested too deeply to keep its digits
 */
export function exactPart(event: ContentEvent, plain: object, find: (document: object) => unknown): object | undefined {
  if (!hasNumber(plain)) return plain;
  const exact = event.exact();
  if (exact === event.document) return plain;
  const part = exact && find(exact);
  return typeof part === 'object' && part !== null && !isKeptNumber(part) ? part : undefined;
}
