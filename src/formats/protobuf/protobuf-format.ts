/** Protobuf with a schema registry: the frame names the file, and the message in it. */
import type protobuf from 'protobufjs';
import type { EventFormat, ReadEvent } from '../../event/format.ts';
import { poison } from '../../event/json-event.ts';
import { type ConfluentRegistry, FRAME_BYTES, readMessageIndexes, SchemaCache, UnusableSchema } from '../../registry/index.ts';
import { type Read, readBinary } from '../binary/binary-event.ts';
import { registryFormat } from '../binary/registry-format.ts';
import { messageAt } from './message-path.ts';
import { MessageReaders } from './message-reader.ts';
import { schemaRoot } from './schema-root.ts';

type Message = { readonly read: Read; readonly objection?: never } | { readonly read?: never; readonly objection: string };
/** By message indexes. */
type FindMessage = (indexes: readonly number[]) => Message;

export function protobufFormat(registry: ConfluentRegistry): EventFormat {
  const cache = new SchemaCache<FindMessage>(async (id, signal) => {
    const schema = await registry.byId(id, signal);
    if (schema === undefined) return undefined;
    if (schema.type !== 'PROTOBUF') {
      throw new UnusableSchema(`it is ${schema.type}, and PROTOBUF is what the source is configured as`);
    }
    const { root, messages } = schemaRoot(schema);
    const readers = new MessageReaders(root);
    // A record may name anything: only what exists is kept.
    const known = new Map<string, Message>();
    return (indexes) => {
      const key = indexes.join();
      const before = known.get(key);
      if (before !== undefined) return before;
      const { type, objection } = messageAt(messages, indexes);
      if (type === undefined) return { objection };
      const message = readerOf(readers, type);
      known.set(key, message);
      return message;
    };
  }, registry.settings);
  return registryFormat('protobuf', cache, read);
}

/** A reader is made of those of all messages within: a chain of thousands of types is more than the stack. */
function readerOf(readers: MessageReaders, type: protobuf.Type): Message {
  try {
    return { read: readers.of(type) };
  } catch {
    return { objection: `message ${type.name} of the schema cannot be read: its types nest too deeply` };
  }
}

function read(value: Buffer, find: FindMessage): ReadEvent {
  const path = readMessageIndexes(value, FRAME_BYTES);
  if (path === undefined)
    return poison('undecodable', 'no message indexes follow the schema id, as a Protobuf serializer writes them');
  const { read: readMessage, objection } = find(path.indexes);
  if (readMessage === undefined) return poison('undecodable', objection);
  return readBinary(value, path.end, readMessage, 'Protobuf');
}
