/** Events of binary formats, whose values are written as JSON. */
import {
  JsonWriter,
  KEPT_BYTES,
  TextTooLong,
} from '../../../packages/client/src/base/json/json-writer.ts';
import { MalformedError } from '../../../packages/client/src/base/varint.ts';
import { valueLengthOf } from '../../core/bytes/record-view.ts';
import type { SourceRecord } from '../../core/record.ts';
import { type FormatCost, poison, type ReadEvent } from '../format.ts';

// Limits on the JSON of a binary value: any producer can write hostile bytes.

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
function maxTextBytes(length: number): number {
  return Math.min(LEAST_TEXT + TEXT_FACTOR * length, LARGE_TEXT + LARGE_FACTOR * length);
}

/** Members and elements that expressions may find in a value, at least and for each of its bytes. */
const LEAST_VALUES = 16 * 1024;
const VALUES_FACTOR = 8;

/** Returns the greatest number of members and elements of a value that is parsed. */
function maxValues(length: number): number {
  return LEAST_VALUES + VALUES_FACTOR * length;
}

/** Returns the memory of a text: its copy, and the room that it is written in, if that grows. */
function writingBytes(text: number): number {
  return text <= KEPT_BYTES ? text : 3 * text;
}

/** Values are read one at a time. */
const writer = new JsonWriter();

/** Returns the cost of a value that is written as JSON. */
export function binaryCost(record: SourceRecord): FormatCost {
  const length = valueLengthOf(record);
  const text = maxTextBytes(length);
  return { memory: writingBytes(text), text, values: maxValues(length) };
}

/**
 * Writes a value as JSON. Never throws.
 * @param format its name, for messages. @param length of the value, bytes
 * @param write writes all of the value
 */
export function binaryEvent(
  format: string,
  length: number,
  write: (out: JsonWriter) => void,
): ReadEvent {
  const limit = maxTextBytes(length);
  writer.begin(limit);
  try {
    write(writer);
  } catch (error) {
    writer.drop();
    if (error instanceof TextTooLong) {
      const message = `the value is ${format} of ${length} bytes that would be JSON of more than ${limit}`;
      return poison('too_large', message);
    }
    // Other errors (of the runtime, of a library) may quote the data.
    const reason = error instanceof MalformedError ? error.message : 'its data could not be read';
    return poison('undecodable', `the value is not ${format} of its schema: ${reason}`);
  }
  const bytes = writer.finish();
  return { bytes, start: 0, end: bytes.length };
}
