/** Events of binary formats, whose values are written as JSON. */
import { JsonWriter, TextTooLong } from '../../../../packages/client/src/base/json/json-writer.ts';
import { MalformedError } from '../../../../packages/client/src/base/varint-reader.ts';
import { valueLengthOf } from '../../../core/bytes/record-view.ts';
import type { SourceRecord } from '../../../core/record.ts';
import { type FormatCost, poison, type ReadEvent } from '../../format.ts';
import { maxTextBytes, maxValues, writingBytes } from './limits.ts';

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
