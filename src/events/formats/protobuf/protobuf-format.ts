/** Protobuf with a schema registry: the frame names the file, and the message in it. */
import type protobuf from 'protobufjs';
import { valueLengthOf } from '../../../core/bytes/record-view.ts';
import type { SourceRecord } from '../../../core/record.ts';
import { type EventFormat, type FormatCost, poison, type ReadEvent } from '../../format.ts';
import { type ConfluentRegistry, FRAME_BYTES, readMessageIndexes } from '../../registry/index.ts';
import { binaryCost, binaryEvent } from '../binary/binary-event.ts';
import { registryFormat } from '../binary/registry-format.ts';
import { decodedBytes } from './counting-reader.ts';
import { messageAt } from './message-path.ts';
import { writeMessage } from './message-reader.ts';
import { messagesOf } from './schema-root.ts';

export function protobufFormat(registry: ConfluentRegistry): EventFormat {
  return registryFormat<readonly protobuf.Type[]>(registry.settings, {
    async load(id, signal) {
      const schema = await registry.byId(id, signal, 'PROTOBUF');
      return schema && messagesOf(schema);
    },
    cost: protobufCost,
    read,
    judge: (messages) => (messages.length === 0 ? 'it has no messages' : undefined),
  });
}

/** Returns the cost of a value, which becomes objects before it is written as JSON. */
export function protobufCost(record: SourceRecord): FormatCost {
  const cost = binaryCost(record);
  return { ...cost, memory: cost.memory + decodedBytes(valueLengthOf(record)) };
}

function read(value: Buffer, messages: readonly protobuf.Type[]): ReadEvent {
  const path = readMessageIndexes(value, FRAME_BYTES);
  if (path === undefined) {
    const message = 'no message indexes follow the schema id, as a Protobuf serializer writes them';
    return poison('undecodable', message);
  }
  const found = messageAt(messages, path.indexes);
  if (!found.ok) return poison('undecodable', found.error);
  return binaryEvent('Protobuf', value.length, (out) =>
    writeMessage(found.value, value.subarray(path.end), out),
  );
}
