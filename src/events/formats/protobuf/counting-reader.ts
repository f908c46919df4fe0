/** Reader of protobufjs that counts what its objects will take, before they are made. */
import protobuf from 'protobufjs';
import { MAX_WRITTEN_LEVELS } from '../../../../packages/client/src/base/json/json-writer.ts';
import { MalformedError } from '../../../../packages/client/src/base/varint-reader.ts';

protobuf.Reader.recursionLimit = MAX_WRITTEN_LEVELS;

/**
 * Memory of a field and of a number of a packed list, bytes. A list of one item in a message of its
 * own takes 350 for both of its fields; a number of 64 bits in a packed list takes 58. The search
 * for expensive values (test/support/events/shape-search.ts) finds none above 0.61 of the sum.
 */
const FIELD_BYTES = 192;
const NUMBER_BYTES = 64;
/** Number of an enum in a packed list. */
const ENUM_BYTES = 16;
/** Texts are in UTF-16, and bytes are views. */
const TEXT_FACTOR = 2;
/** Memory that the objects of a value may take: 262,144 fields. */
const MAX_OBJECT_BYTES = 48 * 1024 * 1024;
/** Fields take two bytes, and numbers one. */
const LEAST_FIELD = 2;

/** Returns the greatest memory of a decoded value. @param length of the value, bytes */
export function decodedBytes(length: number): number {
  const most = Math.max(FIELD_BYTES / LEAST_FIELD, NUMBER_BYTES);
  return Math.min(most * length, MAX_OBJECT_BYTES) + TEXT_FACTOR * length;
}

export class CountingReader extends protobuf.BufferReader {
  #left = MAX_OBJECT_BYTES;

  override tag(): number {
    this.#count(FIELD_BYTES);
    return super.tag();
  }

  /** Also the texts of proto2, which may be anything by its rules. */
  override string(): string {
    return this.stringVerify();
  }

  /** Also each number of a packed list of enums. */
  override int32(): number {
    this.#count(ENUM_BYTES);
    return super.int32();
  }

  /** Counts the numbers of the packed list that comes next. @param size of each, 0 for varints */
  countPacked(size: number): void {
    const { pos } = this;
    const bytes = this.bytes();
    this.pos = pos;
    let numbers = size === 0 ? 0 : bytes.length / size;
    if (size === 0) for (const byte of bytes) if (byte < 0x80) numbers++;
    this.#count(numbers * NUMBER_BYTES);
  }

  #count(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new MalformedError('it has too many fields and numbers');
  }
}

/** Methods for packed lists, with the size of a number; 0 for varints. */
const PACKED = {
  ...{ bools: 0, int32s: 0, uint32s: 0, sint32s: 0, int64s: 0, uint64s: 0, sint64s: 0 },
  ...{ fixed64s: 8, sfixed64s: 8, doubles: 8, fixed32s: 4, sfixed32s: 4, floats: 4 },
};
for (const [name, size] of Object.entries(PACKED)) {
  const read: unknown = Reflect.get(protobuf.Reader.prototype, name);
  Object.defineProperty(CountingReader.prototype, name, {
    value(this: CountingReader, items?: unknown[]) {
      this.countPacked(size);
      return (read as (items?: unknown[]) => unknown).call(this, items);
    },
  });
}
