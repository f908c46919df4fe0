/**
 * Reads Avro's binary encoding into JSON, from the types that avsc made of a schema. avsc's own
 * readers refuse longs beyond 2^53, wrap the branches of some unions, set prototypes by map keys,
 * and do not check item counts (docs/formats.md).
 */
import type avsc from 'avsc';
import { jsonDouble, jsonFloat, jsonNumber, setMember } from '../binary/json-values.ts';
import { BrokenBytes } from '../binary/limits.ts';
import type { ByteReader, ReadAvro } from './byte-reader.ts';
import { LogicalType } from './logical-types.ts';

/** @throws Error for a type that Avro does not have */
export function avroReader(type: avsc.Type): ReadAvro {
  return readerOf(type, new Map());
}

/** @param known readers that are made, or being made: a type may hold itself */
function readerOf(type: avsc.Type, known: Map<avsc.Type, ReadAvro>): ReadAvro {
  if (type instanceof LogicalType) return type.read;
  const before = known.get(type);
  if (before !== undefined) return before;

  let made: ReadAvro | undefined;
  known.set(type, (bytes) => (made as ReadAvro)(bytes));
  made = make(type, (part) => readerOf(part, known));
  known.set(type, made);
  return made;
}

const SCALARS: Readonly<Record<string, ReadAvro>> = {
  null: () => null,
  boolean: (bytes) => {
    const [byte = 0] = bytes.slice(1);
    if (byte > 1) throw new BrokenBytes('a boolean is neither 0 nor 1');
    return byte === 1;
  },
  int: (bytes) => bytes.int(),
  long: (bytes) => {
    const value = bytes.long();
    return typeof value === 'number' ? value : jsonNumber(value.toString());
  },
  float: (bytes) => jsonFloat(bytes.bytes.readFloatLE(bytes.take(4))),
  double: (bytes) => jsonDouble(bytes.bytes.readDoubleLE(bytes.take(8))),
  bytes: (bytes) => bytes.base64(bytes.length()),
  string: (bytes) => bytes.text(),
};

function make(type: avsc.Type, reader: (part: avsc.Type) => ReadAvro): ReadAvro {
  switch (type.typeName) {
    case 'fixed': {
      const { size } = type as avsc.types.FixedType;
      return (bytes) => bytes.base64(size);
    }
    case 'enum': {
      const { symbols } = type as avsc.types.EnumType;
      return (bytes) => choice(symbols, bytes.length(), 'a symbol');
    }
    case 'array': {
      const item = reader((type as avsc.types.ArrayType).itemsType);
      return (bytes) => {
        const items: unknown[] = [];
        blocks(bytes, () => items.push(item(bytes)));
        return items;
      };
    }
    case 'map': {
      const value = reader((type as avsc.types.MapType).valuesType);
      return (bytes) => {
        const members = {};
        blocks(bytes, () => setMember(members, bytes.text(), value(bytes)));
        return members;
      };
    }
    case 'record':
    case 'error':
      return record((type as avsc.types.RecordType).fields, reader);
    case 'union:wrapped':
    case 'union:unwrapped': {
      const branches = (type as avsc.types.WrappedUnionType).types.map(reader);
      return (bytes) => choice(branches, bytes.length(), 'a branch')(bytes);
    }
  }
  const scalar = SCALARS[type.typeName];
  if (scalar === undefined) throw new Error(`Avro has no type ${type.typeName}`);
  return scalar;
}

function choice<T>(of: readonly T[], index: number, what: string): T {
  const chosen = of[index];
  if (chosen === undefined)
    throw new BrokenBytes(`${what} is chosen that the schema does not have`);
  return chosen;
}

/** Blocks of items until an empty one; a negative count is followed by the size of its block. */
function blocks(bytes: ByteReader, item: () => void): void {
  bytes.limits.nested(() => {
    for (;;) {
      const signed = bytes.length();
      if (signed === 0) break;
      if (signed < 0) bytes.length();
      const count = Math.abs(signed);
      bytes.limits.countItems(count);
      for (let index = 0; index < count; index++) item();
    }
  });
}

function record(
  fields: readonly avsc.types.Field[],
  reader: (part: avsc.Type) => ReadAvro,
): ReadAvro {
  const members = fields.map(({ name, type }) => ({ name, read: reader(type) }));
  return (bytes) =>
    bytes.limits.nested(() => {
      bytes.limits.countMembers(members.length);
      const document = {};
      for (const { name, read } of members) setMember(document, name, read(bytes));
      return document;
    });
}
