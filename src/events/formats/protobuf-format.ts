/** Protobuf with a schema registry. The frame identifies the .proto file and the message in it. */
import protobuf from 'protobufjs';
import { err, ok, type Result } from '../../../packages/client/src/base/result.ts';
import { valueLengthOf } from '../../core/bytes/record-view.ts';
import type { SourceRecord } from '../../core/record.ts';
import { type EventFormat, type FormatCost, poison, type ReadEvent } from '../format.ts';
import { type ConfluentRegistry, FRAME_BYTES, readMessageIndexes } from '../registry/index.ts';
import { binaryCost, binaryEvent } from './binary-event.ts';
import { decodedBytes, writeMessage } from './protobuf-reader.ts';
import { isEntry, isGroup, messagesOf } from './protobuf-schema.ts';
import { registryFormat } from './registry-format.ts';

/**
 * Finds a message by the message indexes of a record. Clients count differently: those that count
 * descriptors (Python, Go, .NET) include map entries and the contents of groups, but Java does not.
 * A registry that reformats a schema also moves map entries and groups. An index may therefore
 * refer to the message at its position, or to one that precedes it by at most the number of maps
 * and groups. If several messages qualify, the result is an error, because guessing could misread a
 * record.
 */
export function messageAt(
  messages: readonly protobuf.Type[],
  indexes: readonly number[],
): Result<protobuf.Type> {
  let around: Nesting = { level: messages, uncounted: 0 };
  let found: protobuf.Type | undefined;
  for (const index of indexes) {
    const { level, uncounted } = around;
    const [only, other] = level.filter((_, place) => place <= index && index <= place + uncounted);
    if (only === undefined) return err('the schema has no message at the indexes of the record');
    if (other !== undefined) {
      const name = found?.name;
      return err(
        `the indexes of the record may mean ${only.name} or ${other.name}, because ${name} has maps or groups, which not every client counts: move them out of ${name}`,
      );
    }
    found = only;
    around = within(only);
  }
  return found === undefined ? err('the record has no message indexes') : ok(found);
}

interface Nesting {
  readonly level: readonly protobuf.Type[];
  /** Number of maps and groups, which only some clients count as messages. */
  readonly uncounted: number;
}

function within(type: protobuf.Type): Nesting {
  const nested = type.nestedArray.filter((inner) => inner instanceof protobuf.Type);
  const level = nested.filter((inner) => !isGroup(inner) && !isEntry(inner));
  return { level, uncounted: nested.length - level.length };
}

export function protobufFormat(registry: ConfluentRegistry): EventFormat {
  return registryFormat<readonly protobuf.Type[]>(registry.settings, {
    async load(id, signal) {
      const schema = await registry.byId(id, signal, 'PROTOBUF');
      return schema && messagesOf(schema);
    },
    cost: protobufCost,
    read,
  });
}

/** Returns the cost of a value, which is decoded to objects before it is written as JSON. */
export function protobufCost(record: SourceRecord): FormatCost {
  const cost = binaryCost(record);
  return { ...cost, memory: cost.memory + decodedBytes(valueLengthOf(record)) };
}

function read(value: Buffer, messages: readonly protobuf.Type[]): ReadEvent {
  const path = readMessageIndexes(value, FRAME_BYTES);
  if (path === undefined) {
    const message =
      'the schema id is not followed by message indexes, as Protobuf serializers write them';
    return poison('undecodable', message);
  }
  const found = messageAt(messages, path.indexes);
  if (!found.ok) return poison('undecodable', found.error);
  return binaryEvent('Protobuf', value.length, (out) =>
    writeMessage(found.value, value.subarray(path.end), out),
  );
}
