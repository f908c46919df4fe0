/** Protobuf messages for tests without a registry. */
import type { ReadEvent } from '../../../src/events/format.ts';
import { binaryEvent } from '../../../src/events/formats/binary-event.ts';
import { messageAt } from '../../../src/events/formats/protobuf-format.ts';
import { writeMessage } from '../../../src/events/formats/protobuf-reader.ts';
import { messagesOf } from '../../../src/events/formats/protobuf-schema.ts';

/** Returns a reader of the message at `indexes` of a file. @throws UnusableSchema; Error if there is no such message */
export function protobufReader(
  text: string,
  indexes: readonly number[] = [0],
  imports: Readonly<Record<string, string>> = {},
): (value: Uint8Array) => ReadEvent {
  const others = Object.entries(imports).map(([name, text]) => ({
    name,
    text,
    type: 'PROTOBUF' as const,
    references: [],
  }));
  const messages = messagesOf({
    id: 1,
    type: 'PROTOBUF',
    text,
    references: [],
    imports: others,
  });
  const found = messageAt(messages, indexes);
  if (!found.ok) throw new Error(found.error);
  return (value) =>
    binaryEvent('Protobuf', value.length, (out) =>
      writeMessage(found.value, Buffer.from(value), out),
    );
}
