/** An event of a binary format: read with doubles, and once more with kept digits when somebody asks and it makes a difference. */

import type { ReadEvent } from '../../format.ts';
import { nameOf, poison } from '../../json-event.ts';
import { BrokenBytes, ByteReader } from './byte-reader.ts';

export type Read = (bytes: ByteReader) => unknown;

/** Reads the whole of `value` from `start` on. Never throws. @param format for messages */
export function readBinary(value: Buffer, start: number, read: Read, format: string): ReadEvent {
  const bytes = new ByteReader(value, start, false);
  let document: unknown;
  try {
    document = read(bytes);
    if (bytes.remaining > 0) throw new BrokenBytes('bytes are left over');
  } catch (error) {
    return poison('undecodable', `the value is not ${format} of its schema: ${reasonOf(error)}`);
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    return poison(
      'not_an_object',
      `the value is ${format}, but ${nameOf(document)} and not an object`,
    );
  }
  const plain = document;
  let exact: object | undefined;
  return {
    event: {
      document: plain,
      exact: () => {
        exact ??= bytes.lossy ? (read(new ByteReader(value, start, true)) as object) : plain;
        return exact;
      },
    },
  };
}

/** Other errors (of the runtime, of a library) may quote the data. */
function reasonOf(error: unknown): string {
  return error instanceof BrokenBytes ? error.message : 'its data could not be read';
}
