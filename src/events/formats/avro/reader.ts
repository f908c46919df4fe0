/**
 * Writes Avro's binary encoding as JSON, by the types that avsc made of a schema. avsc's own
 * readers refuse longs beyond 2^53, wrap the branches of some unions, set prototypes by map keys,
 * and do not check item counts (docs/formats.md).
 */
import type avsc from 'avsc';
import type { JsonWriter } from '../../../../packages/client/src/base/json/json-writer.ts';
import {
  CLOSING,
  CLOSING_OBJECT,
  COLON,
  COMMA,
  OPENING,
  OPENING_OBJECT,
} from '../../../../packages/client/src/base/json/scanner.ts';
import { MalformedError } from '../../../../packages/client/src/base/varint-reader.ts';
import { doubleJson, floatJson } from '../binary/json-values.ts';
import type { ByteReader, WriteAvro } from './byte-reader.ts';
import { LogicalType } from './logical-types.ts';

/** @throws Error for a type that Avro does not have */
export function avroReader(type: avsc.Type): WriteAvro {
  return readerOf(type, new Map());
}

/** @param known readers that are made, or being made: a type may hold itself */
function readerOf(type: avsc.Type, known: Map<avsc.Type, WriteAvro>): WriteAvro {
  if (type instanceof LogicalType) return type.write;
  const before = known.get(type);
  if (before !== undefined) return before;

  let made: WriteAvro | undefined;
  known.set(type, (bytes, out) => (made as WriteAvro)(bytes, out));
  made = make(type, (part) => readerOf(part, known));
  known.set(type, made);
  return made;
}

const SCALARS: Readonly<Record<string, WriteAvro>> = {
  null: (_bytes, out) => out.ascii('null'),
  boolean(bytes, out) {
    const byte = bytes.bytes[bytes.take(1)] as number;
    if (byte > 1) throw new MalformedError('a boolean is neither 0 nor 1');
    out.ascii(byte === 1 ? 'true' : 'false');
  },
  int: (bytes, out) => out.ascii(String(bytes.int())),
  long: (bytes, out) => out.ascii(String(bytes.long())),
  float: (bytes, out) => out.ascii(floatJson(bytes.bytes.readFloatLE(bytes.take(4)))),
  double: (bytes, out) => out.ascii(doubleJson(bytes.bytes.readDoubleLE(bytes.take(8)))),
  bytes: (bytes, out) => bytes.writeBase64(bytes.length(), out),
  string: (bytes, out) => bytes.writeText(out),
};

function make(type: avsc.Type, reader: (part: avsc.Type) => WriteAvro): WriteAvro {
  switch (type.typeName) {
    case 'fixed': {
      const { size } = type as avsc.types.FixedType;
      return (bytes, out) => bytes.writeBase64(size, out);
    }
    case 'enum': {
      const symbols = (type as avsc.types.EnumType).symbols.map((symbol) => json(symbol));
      return (bytes, out) => out.json(choice(symbols, bytes.length(), 'a symbol'));
    }
    case 'array': {
      const item = reader((type as avsc.types.ArrayType).itemsType);
      return (bytes, out) => {
        out.mark(OPENING);
        blocks(bytes, out, item);
        out.mark(CLOSING);
      };
    }
    case 'map': {
      const value = reader((type as avsc.types.MapType).valuesType);
      const member: WriteAvro = (bytes, out) => {
        bytes.writeText(out);
        out.mark(COLON);
        value(bytes, out);
      };
      return (bytes, out) => {
        out.mark(OPENING_OBJECT);
        blocks(bytes, out, member);
        out.mark(CLOSING_OBJECT);
      };
    }
    case 'record':
    case 'error':
      return record((type as avsc.types.RecordType).fields, reader);
    case 'union:wrapped':
    case 'union:unwrapped': {
      const branches = (type as avsc.types.WrappedUnionType).types.map(reader);
      return (bytes, out) => choice(branches, bytes.length(), 'a branch')(bytes, out);
    }
  }
  const scalar = SCALARS[type.typeName];
  if (scalar === undefined) throw new Error(`Avro has no type ${type.typeName}`);
  return scalar;
}

const json = (value: string): Buffer => Buffer.from(JSON.stringify(value));

function choice<T>(of: readonly T[], index: number, what: string): T {
  const chosen = of[index];
  if (chosen === undefined)
    throw new MalformedError(`${what} is chosen that the schema does not have`);
  return chosen;
}

/**
 * Blocks of items until an empty one; a negative count is followed by the size of its block. An
 * item without bytes ends at the limit of the text.
 */
function blocks(bytes: ByteReader, out: JsonWriter, item: WriteAvro): void {
  out.enter();
  let isFirst = true;
  for (;;) {
    const signed = bytes.length();
    if (signed === 0) break;
    if (signed < 0) bytes.length();
    const count = Math.abs(signed);
    for (let index = 0; index < count; index++) {
      if (!isFirst) out.mark(COMMA);
      isFirst = false;
      item(bytes, out);
    }
  }
  out.leave();
}

function record(
  fields: readonly avsc.types.Field[],
  reader: (part: avsc.Type) => WriteAvro,
): WriteAvro {
  const members = fields.map(({ name, type }, index) => ({
    name: Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    write: reader(type),
  }));
  return (bytes, out) => {
    out.enter();
    if (members.length === 0) out.mark(OPENING_OBJECT);
    for (let i = 0; i < members.length; i++) {
      const { name, write } = members[i] as (typeof members)[number];
      out.json(name);
      write(bytes, out);
    }
    out.mark(CLOSING_OBJECT);
    out.leave();
  };
}
