/**
 * Writes Avro's binary encoding as JSON, according to avsc's types of a schema. avsc's own readers
 * reject longs beyond 2^53, wrap the branches of some unions, set prototypes from map keys, and do
 * not check item counts (docs/formats.md).
 */

import avsc from 'avsc';
import type { JsonWriter } from '../../../packages/client/src/base/json/json-writer.ts';
import {
  CLOSING,
  CLOSING_OBJECT,
  COLON,
  COMMA,
  OPENING,
  OPENING_OBJECT,
} from '../../../packages/client/src/base/json/scanner.ts';
import { MalformedError, VarintReader } from '../../../packages/client/src/base/varint.ts';
import {
  dateText,
  decimalJson,
  doubleJson,
  floatJson,
  MAX_SCALE,
  timeOfDayText,
  timestampText,
} from './binary-values.ts';

// Position in the bytes of an Avro value.

/** Writes the value at the position of `bytes` as JSON. @throws MalformedError, TextTooLong */
export type WriteAvro = (bytes: ByteReader, out: JsonWriter) => void;

export class ByteReader extends VarintReader {
  /** @param start offset of the value in `bytes` */
  constructor(bytes: Buffer, start: number) {
    super();
    this.reset(bytes, start, bytes.length);
  }

  /** Skips `length` bytes. @returns their start. @throws MalformedError, like all methods here */
  take(length: number): number {
    if (!(length >= 0 && length <= this.left)) throw new MalformedError('the data ends too early');
    this.at += length;
    return this.at - length;
  }

  slice(length: number): Buffer {
    const start = this.take(length);
    return this.bytes.subarray(start, this.at);
  }

  /** Reads an Avro long, a zigzag varint of up to 64 bits. @returns a bigint if a number would not be exact */
  long(): number | bigint {
    const from = this.at;
    const value = this.varlong();
    if (this.at - from === 10 && (this.bytes[this.at - 1] as number) > 1)
      throw new MalformedError('an integer has more than 64 bits');
    return Number.isSafeInteger(value) ? value : this.exactVarlong(from);
  }

  /** Reads an Avro int of 32 bits. */
  int(): number {
    const value = this.varlong();
    if ((value | 0) !== value) throw new MalformedError('an int has more than 32 bits');
    return value;
  }

  /** Reads the length of a byte sequence or string. */
  length(): number {
    return this.varlong();
  }

  /** Writes bytes as base64. */
  writeBase64(length: number, out: JsonWriter): void {
    const start = this.take(length);
    out.base64(this.bytes, start, this.at);
  }

  /** Writes the next string. */
  writeText(out: JsonWriter): void {
    const start = this.take(this.length());
    if (!out.utf8(this.bytes, start, this.at)) throw new MalformedError('a string is not UTF-8');
  }
}

// JSON forms of Avro's logical types. avsc receives their names, so that its types carry
// their writers. If the specification calls a definition invalid (such as a decimal without
// precision), the value is read as its underlying type, as the specification requires.

interface LogicalDefinition {
  readonly logicalType: string;
  readonly precision?: unknown;
  readonly scale?: unknown;
}

/**
 * Returns the writer of a logical type, or undefined if the definition is invalid.
 * @param plain name of the underlying type
 * @param size number of bytes of a fixed type, otherwise undefined
 */
type Define = (
  plain: string,
  size: number | undefined,
  definition: LogicalDefinition,
) => WriteAvro | undefined;

const only =
  (name: string, write: WriteAvro): Define =>
  (plain) =>
    plain === name ? write : undefined;

const timestamp = (digits: number, zone: string): Define =>
  only('long', (bytes, out) => out.ascii(`"${timestampText(bytes.long(), digits)}${zone}"`));

const DEFINITIONS: Readonly<Record<string, Define>> = {
  decimal,
  uuid,
  date: only('int', (bytes, out) => out.ascii(`"${dateText(bytes.int())}"`)),
  'time-millis': only('int', (bytes, out) => out.ascii(`"${timeOfDayText(bytes.int(), 3)}"`)),
  'time-micros': only('long', (bytes, out) => out.ascii(`"${timeOfDayText(bytes.long(), 6)}"`)),
  'timestamp-millis': timestamp(3, 'Z'),
  'timestamp-micros': timestamp(6, 'Z'),
  'timestamp-nanos': timestamp(9, 'Z'),
  'local-timestamp-millis': timestamp(3, ''),
  'local-timestamp-micros': timestamp(6, ''),
  'local-timestamp-nanos': timestamp(9, ''),
};

/** avsc type that carries the writer of its values. */
class LogicalType extends avsc.types.LogicalType {
  readonly write: WriteAvro;

  constructor(schema: avsc.Schema, options?: unknown) {
    super(schema, options);
    const definition = Object(schema) as LogicalDefinition;
    const { typeName, size } = this.underlyingType as Partial<avsc.types.FixedType>;
    const write = DEFINITIONS[definition.logicalType]?.(String(typeName), size, definition);
    if (write === undefined) throw new Error('invalid logical type');
    this.write = write;
  }
}

export const LOGICAL_TYPES = Object.fromEntries(
  Object.keys(DEFINITIONS).map((name) => [name, LogicalType]),
);

function decimal(
  plain: string,
  size: number | undefined,
  { precision, scale = 0 }: LogicalDefinition,
): WriteAvro | undefined {
  if (!isCount(precision) || precision === 0 || !isCount(scale)) return undefined;
  if (scale > precision || scale > MAX_SCALE) return undefined;
  if (size === undefined && plain !== 'bytes') return undefined;
  return (bytes, out) => out.ascii(decimalJson(bytes.slice(size ?? bytes.length()), scale));
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}

function uuid(plain: string, size: number | undefined): WriteAvro | undefined {
  if (plain === 'string') return (bytes, out) => bytes.writeText(out);
  if (size !== 16) return undefined;
  return (bytes, out) => {
    const hex = bytes.slice(16).toString('hex');
    out.ascii(`"${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}"`);
  };
}

/** Returns a function that reads values of a type and writes them as JSON. @throws Error for a type that Avro does not have */
export function avroReader(type: avsc.Type): WriteAvro {
  return readerOf(type, new Map());
}

/** @param known functions by type, including unfinished ones, because a type may contain itself */
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
    throw new MalformedError(`the data refers to ${what} that is not in the schema`);
  return chosen;
}

/**
 * Writes blocks of items until an empty block. A negative count is followed by the size of its
 * block. If items take no bytes, a huge count ends at the maximum length of the JSON.
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
