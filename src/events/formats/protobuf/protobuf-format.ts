/** Protobuf with a schema registry: the frame names the file, and the message in it. */
import type protobuf from 'protobufjs';
import type { EventFormat, ReadEvent, SchemaVerdict } from '../../format.ts';
import { poison } from '../../json-event.ts';
import {
  type ConfluentRegistry,
  FRAME_BYTES,
  readMessageIndexes,
  SchemaCache,
  UnusableSchema,
} from '../../registry/index.ts';
import { type Read, readBinary } from '../binary/binary-event.ts';
import { registryFormat } from '../binary/registry-format.ts';
import { ambiguities, messageAt } from './message-path.ts';
import { MessageReaders } from './message-reader.ts';
import { schemaRoot } from './schema-root.ts';
import { isNeverObject } from './well-known.ts';

type Message =
  | { readonly read: Read; readonly objection?: never }
  | { readonly read?: never; readonly objection: string };

interface LoadedFile {
  /** In no other message. */
  readonly messages: readonly protobuf.Type[];
  /** By message indexes. */
  find(indexes: readonly number[]): Message;
}

export function protobufFormat(registry: ConfluentRegistry): EventFormat {
  const cache = new SchemaCache<LoadedFile>(async (id, signal) => {
    const schema = await registry.byId(id, signal);
    if (schema === undefined) return undefined;
    if (schema.type !== 'PROTOBUF') {
      throw new UnusableSchema(
        `it is ${schema.type}, and PROTOBUF is what the source is configured as`,
      );
    }
    const { root, messages } = schemaRoot(schema);
    const readers = new MessageReaders(root);
    // A record may name anything: only what exists is kept.
    const known = new Map<string, Message>();
    const find = (indexes: readonly number[]): Message => {
      const key = indexes.join();
      const before = known.get(key);
      if (before !== undefined) return before;
      const { type, objection } = messageAt(messages, indexes);
      if (type === undefined) return { objection };
      const message = { read: readers.of(type) };
      known.set(key, message);
      return message;
    };
    return { messages, find };
  }, registry.settings);
  return registryFormat('protobuf', cache, {
    read: (value, { find }) => read(value, find),
    judge: ({ messages }) => verdictOn(messages),
  });
}

function verdictOn(messages: readonly protobuf.Type[]): SchemaVerdict {
  if (messages.length === 0) return { refusal: 'it has no messages', exceptions: [] };
  const names = messages.map(({ fullName }) => fullName.slice(1));
  const others = names.filter(isNeverObject);
  if (others.length === names.length)
    return {
      refusal: `its messages (${others.join(', ')}) are no objects, which events are`,
      exceptions: [],
    };
  return {
    exceptions: [
      ...others.map((name) => `messages ${name} are no objects`),
      ...ambiguities(messages),
    ],
  };
}

function read(value: Buffer, find: LoadedFile['find']): ReadEvent {
  const path = readMessageIndexes(value, FRAME_BYTES);
  if (path === undefined)
    return poison(
      'undecodable',
      'no message indexes follow the schema id, as a Protobuf serializer writes them',
    );
  const { read: readMessage, objection } = find(path.indexes);
  if (readMessage === undefined) return poison('undecodable', objection);
  return readBinary(value, path.end, readMessage, 'Protobuf');
}
