/** Limits on the JSON of a binary value: any producer can write hostile bytes. */
import { KEPT_BYTES } from '../../../../packages/client/src/base/json/json-writer.ts';

/**
 * Bytes of JSON that any value may have, and how many more for each of its own: a field without a
 * value has no bytes in Avro, and its name in JSON.
 */
const LEAST_TEXT = 64 * 1024;
const TEXT_FACTOR = 128;
/** Bytes of JSON that a large value may have for each of its own: of control characters, six. */
const LARGE_FACTOR = 6;
const LARGE_TEXT = 8 * 1024 * 1024;

/** Returns the greatest length of the JSON of a value. @param length of the value, bytes */
export function maxTextBytes(length: number): number {
  return Math.min(LEAST_TEXT + TEXT_FACTOR * length, LARGE_TEXT + LARGE_FACTOR * length);
}

/** Members and elements that expressions may find in a value, at least and for each of its bytes. */
const LEAST_VALUES = 16 * 1024;
const VALUES_FACTOR = 8;

/** Returns the greatest number of members and elements of a value that is parsed. */
export function maxValues(length: number): number {
  return LEAST_VALUES + VALUES_FACTOR * length;
}

/** Returns the memory of a text: its copy, and the room that it is written in, if that grows. */
export function writingBytes(text: number): number {
  return text <= KEPT_BYTES ? text : 3 * text;
}
