/**
 * Reads Avro's binary encoding into JSON, from the types that avsc made of a schema. avsc's own readers are not used: they refuse
 * longs beyond 2^53, wrap the branches of some unions, set prototypes by map keys, and believe any item count
 * (docs/formats.md).
 */
import type avsc from 'avsc';
import type { Read } from '../binary/binary-event.ts';
import { BrokenBytes, type ByteReader, setMember } from '../binary/byte-reader.ts';
import { int, LogicalType, length } from './logical-types.ts';

/** @throws Error for a type that is none of Avro's */
export function avroReader(type: avsc.Type): Read {
  return readerOf(type, new Map());
}

/** @param known readers of types that are being made, or are: a type may hold itself. */
function readerOf(type: avsc.Type, known: Map<avsc.Type, Read>): Read {
  if (type instanceof LogicalType) return type.read;
  const before = known.get(type);
  if (before !== undefined) return before;
  let made: Read | undefined;
  known.set(type, (bytes) => (made as Read)(bytes));
  made = make(type, (part) => readerOf(part, known));
  known.set(type, made);
  return made;
}

function make(type: avsc.Type, reader: (part: avsc.Type) => Read): Read {
  switch (type.typeName) {
    case 'null':
      return () => null;
    case 'boolean':
      return boolean;
    case 'int':
      return int;
    case 'long':
      return (bytes) => bytes.integer(bytes.zigzag());
    case 'float':
      return (bytes) => bytes.float(bytes.bytes.readFloatLE(bytes.take(4)));
    case 'double':
      return (bytes) => bytes.double(bytes.bytes.readDoubleLE(bytes.take(8)));
    case 'bytes':
      return (bytes) => bytes.base64(length(bytes));
    case 'string':
      return (bytes) => bytes.text(length(bytes));
    case 'fixed': {
      const { size } = type as avsc.types.FixedType;
      return (bytes) => bytes.base64(size);
    }
    case 'enum':
      return choice((type as avsc.types.EnumType).symbols, 'a symbol');
    case 'array':
      return array(reader((type as avsc.types.ArrayType).itemsType));
    case 'map':
      return map(reader((type as avsc.types.MapType).valuesType));
    case 'record':
    case 'error':
      return record((type as avsc.types.RecordType).fields, reader);
    case 'union:wrapped':
    case 'union:unwrapped': {
      const branch = choice((type as avsc.types.WrappedUnionType).types.map(reader), 'a branch');
      return (bytes) => branch(bytes)(bytes);
    }
    default:
      throw new Error(`${type.typeName} is no type of Avro`);
  }
}

function boolean(bytes: ByteReader): boolean {
  const byte = bytes.byte();
  if (byte > 1) throw new BrokenBytes('a boolean is neither 0 nor 1');
  return byte === 1;
}

function choice<T>(of: readonly T[], what: string): (bytes: ByteReader) => T {
  return (bytes) => {
    const chosen = of[Number(bytes.zigzag())];
    if (chosen === undefined)
      throw new BrokenBytes(`${what} is chosen that the schema does not have`);
    return chosen;
  };
}

/** Blocks of items until an empty one; a negative count is followed by the size of its block, for those who skip. */
function blocks(bytes: ByteReader, item: () => void): void {
  bytes.enter();
  for (;;) {
    let count = Number(bytes.zigzag());
    if (count === 0) break;
    if (count < 0) {
      count = -count;
      bytes.zigzag();
    }
    bytes.countItems(count);
    for (let index = 0; index < count; index++) item();
  }
  bytes.leave();
}

function array(item: Read): Read {
  return (bytes) => {
    const items: unknown[] = [];
    blocks(bytes, () => items.push(item(bytes)));
    return items;
  };
}

function map(value: Read): Read {
  return (bytes) => {
    const members: Record<string, unknown> = {};
    blocks(bytes, () => setMember(members, bytes.text(length(bytes)), value(bytes)));
    return members;
  };
}

function record(fields: readonly avsc.types.Field[], reader: (part: avsc.Type) => Read): Read {
  const members = fields.map(({ name, type }) => ({ name, read: reader(type) }));
  return (bytes) => {
    bytes.enter();
    const document: Record<string, unknown> = {};
    const start = bytes.position;
    for (const { name, read } of members) setMember(document, name, read(bytes));
    bytes.countMembers(members.length, bytes.position - start);
    bytes.leave();
    return document;
  };
}
