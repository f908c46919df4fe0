/** Events of binary formats as JSON. */
import {
  JsonWriter,
  KEPT_BYTES,
  TextTooLong,
} from '../../../packages/client/src/base/json/json-writer.ts';
import { MalformedError } from '../../../packages/client/src/base/varint.ts';
import { valueLengthOf } from '../../core/bytes/record-view.ts';
import type { SourceRecord } from '../../core/record.ts';
import { type FormatCost, poison, type ReadEvent } from '../format.ts';

// Limits on the JSON of a binary value. They are needed because any producer can write hostile bytes.

/**
 * Maximum JSON bytes of a value: a base plus a multiple of the value's size. The factor is large
 * because a field that takes no bytes in Avro still has a name in JSON.
 */
const LEAST_TEXT = 64 * 1024;
const TEXT_FACTOR = 128;
/** Maximum JSON bytes for each byte of a large value: a control character takes six. */
const LARGE_FACTOR = 6;
const LARGE_TEXT = 8 * 1024 * 1024;

/** Returns the maximum length of a value's JSON. @param length size of the value in bytes */
function maxTextBytes(length: number): number {
  return Math.min(LEAST_TEXT + TEXT_FACTOR * length, LARGE_TEXT + LARGE_FACTOR * length);
}

/** Maximum number of members and elements that expressions parse: a base plus a multiple of the value's size. */
const LEAST_VALUES = 16 * 1024;
const VALUES_FACTOR = 8;

/** Returns the maximum number of members and elements of a parsed value. */
function maxValues(length: number): number {
  return LEAST_VALUES + VALUES_FACTOR * length;
}

/** Returns the memory for writing JSON: its copy and, for long JSON, the writer's grown buffer. */
function writingBytes(text: number): number {
  return text <= KEPT_BYTES ? text : 3 * text;
}

/** Shared by all values, because they are read one at a time. */
const writer = new JsonWriter();

/** Returns the cost of a value that is written as JSON. */
export function binaryCost(record: SourceRecord): FormatCost {
  const length = valueLengthOf(record);
  const text = maxTextBytes(length);
  return { memory: writingBytes(text), text, values: maxValues(length) };
}

/**
 * Writes a value as JSON. Never throws.
 * @param format name of the format, for messages
 * @param length size of the value in bytes
 * @param write writes the whole value
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
      const message = `the value is ${format} of ${length} bytes whose JSON would exceed ${limit} bytes`;
      return poison('too_large', message);
    }
    // Other errors, from the runtime or a library, may quote the data.
    const reason = error instanceof MalformedError ? error.message : 'its data could not be read';
    return poison('undecodable', `the value does not match its ${format} schema: ${reason}`);
  }
  const bytes = writer.finish();
  return { bytes, start: 0, end: bytes.length };
}
