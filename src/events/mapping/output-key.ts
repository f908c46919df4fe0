/** The key of terminal records, where it is not that of their source records (`output.key`). Dead letters always have the original one. */

import { isKeptNumber } from '../../base/exact-json.ts';
import type { ContentItem } from '../../core/record.ts';
import { digitsOf } from '../expression/exact-number.ts';
import { type EventInput, typeOfFound } from '../expression/index.ts';
import { MappedPart } from './mapping-failure.ts';

/** A key is no place for content. */
const MAX_KEY_BYTES = 64 * 1024;

export type WithOutputKey = (item: ContentItem, input: EventInput) => ContentItem;

/**
 * A text or a number is the key, as text; null and what is missing is no key. @param text undefined: the key of the source record
 * @throws RangeError on an expression that is none; what it returns throws MappingFailure
 */
export function compileOutputKey(text: string | undefined): WithOutputKey {
  if (text === undefined) return (item) => item;
  const part = new MappedPart(text, 'output.key.field');
  return (item, input) => {
    const outputKey = keyOf(part, part.find(input) ?? null);
    return { ...item, outputKey, bytes: item.bytes + 2 * (outputKey?.length ?? 0) };
  };
}

function keyOf(part: MappedPart, found: unknown): Buffer | null {
  if (found === null) return null;
  const text = isKeptNumber(found) ? digitsOf(found as object) : found;
  if (typeof text !== 'string' && typeof text !== 'number') {
    throw part.failure(
      'mapping_failed',
      `must be a string or a number, but is ${typeOfFound(found)}`,
    );
  }
  const key = Buffer.from(String(text));
  if (key.length > MAX_KEY_BYTES)
    throw part.failure(
      'too_large',
      `has ${key.length} bytes, more than the ${MAX_KEY_BYTES} of a key`,
    );
  return key;
}
