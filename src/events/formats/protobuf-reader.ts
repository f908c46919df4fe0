/**
 * Writes Protobuf messages as JSON. protobufjs decodes them within limits on depth and memory. This
 * file then writes them in Protobuf's JSON form (docs/formats.md).
 */
import protobuf from 'protobufjs';
import {
  type JsonWriter,
  MAX_WRITTEN_LEVELS,
} from '../../../packages/client/src/base/json/json-writer.ts';
import {
  CLOSING,
  CLOSING_OBJECT,
  COMMA,
  OPENING,
  OPENING_OBJECT,
} from '../../../packages/client/src/base/json/scanner.ts';
import { MalformedError } from '../../../packages/client/src/base/varint.ts';
import { decimalJson, doubleJson, floatJson, timestampText } from './binary-values.ts';
import { isEntry, isGroup } from './protobuf-schema.ts';

// Reader for protobufjs that counts the memory of objects before they are created.

protobuf.Reader.recursionLimit = MAX_WRITTEN_LEVELS;

/**
 * Bytes of memory for a field, and for a number in a packed list. Measured: a message with a list
 * of one item takes 350 for its two fields, and a 64-bit number in a packed list takes 58. The most
 * expensive values that the search in test/support/events/shape-search.ts finds take 0.61 of
 * `decodedBytes`.
 */
const FIELD_BYTES = 192;
const NUMBER_BYTES = 64;
/** Bytes of memory for an enum number in a packed list. */
const ENUM_BYTES = 16;
/** Strings become UTF-16, which takes twice their bytes. Bytes stay views. */
const TEXT_FACTOR = 2;
/** Maximum memory of the objects of a value, in bytes: enough for 262,144 fields. */
const MAX_OBJECT_BYTES = 48 * 1024 * 1024;
/** Minimum encoded bytes of a field. A number in a packed list takes at least one. */
const LEAST_FIELD = 2;

/** Returns the maximum memory of a decoded value. @param length size of the value in bytes */
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

  /** Also verifies the strings of proto2, whose specification allows any bytes. */
  override string(): string {
    return this.stringVerify();
  }

  /** Also called for each number of a packed list of enums. */
  override int32(): number {
    this.#count(ENUM_BYTES);
    return super.int32();
  }

  /** Counts the numbers of the next packed list. @param size bytes of each number, 0 for varints */
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
    if (this.#left < 0) throw new MalformedError('the message has too many fields and numbers');
  }
}

/** Methods that read packed lists, with the size of a number in bytes, or 0 for varints. */
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

type Message = Readonly<Record<string, unknown>>;
/** Writes a decoded value of a type. */
type WriteValue = (value: never, out: JsonWriter) => void;
/** Writes a decoded message. */
type WriteMessage = (message: Message, out: JsonWriter) => void;

interface FieldWriter {
  readonly property: string;
  /** Name of the field as a JSON string, followed by a colon. */
  readonly name: Buffer;
  /** True if the field is written even if it was not sent. */
  readonly always: boolean;
  readonly write: WriteValue;
}

/** Cache of writers. A type that contains itself finds its own writer here. */
const known = new WeakMap<protobuf.Type, WriteMessage>();

/** Decodes and writes a message. @param type resolved type @throws MalformedError, TextTooLong */
export function writeMessage(type: protobuf.Type, bytes: Buffer, out: JsonWriter): void {
  writeNested(type, decode(type, bytes), out);
}

/** Writes a message as one more level of nesting. */
function writeNested(type: protobuf.Type, message: Message, out: JsonWriter): void {
  out.enter();
  writerOf(type)(message, out);
  out.leave();
}

/** Returns the writer of a type, created at first use: otherwise, a chain of thousands of types would overflow the stack. */
function writerOf(type: protobuf.Type): WriteMessage {
  const before = known.get(type);
  if (before !== undefined) return before;
  const writer = makeWriter(type);
  known.set(type, writer);
  return writer;
}

function makeWriter(type: protobuf.Type): WriteMessage {
  const fields = type.fieldsArray.map((field) => fieldWriter(field.resolve()));
  const special = WELL_KNOWN.get(type.fullName.slice(1));
  if (special !== undefined) {
    return (message, out) =>
      special(message, out, (name) => {
        const field = fields.find(({ property }) => property === name) as FieldWriter;
        field.write(message[name] as never, out);
      });
  }
  return (message, out) => {
    out.mark(OPENING_OBJECT);
    let isFirst = true;
    for (const { name, property, always, write } of fields) {
      if (!always && !Object.hasOwn(message, property)) continue;
      if (!isFirst) out.mark(COMMA);
      isFirst = false;
      out.json(name);
      write(message[property] as never, out);
    }
    out.mark(CLOSING_OBJECT);
  };
}

function fieldWriter(field: protobuf.Field): FieldWriter {
  const { resolvedType: type, name: property } = field;
  const one = valueWriter(field);
  return {
    property,
    name: Buffer.from(`${JSON.stringify(jsonName(field))}:`),
    always: field.repeated || !(field.hasPresence || type instanceof protobuf.Type),
    write: !field.repeated
      ? one
      : type instanceof protobuf.Type && isEntry(type)
        ? mapWriter(type)
        : list(one),
  };
}

function valueWriter({ resolvedType: type, type: name }: protobuf.Field): WriteValue {
  if (!(type instanceof protobuf.Type)) return scalar(type ?? name);
  return (message, out) => writeNested(type, message, out);
}

/** Writes a list of map entries as an object. If a key occurs more than once, its last entry applies. */
function mapWriter(entry: protobuf.Type): WriteValue {
  const value = (entry.fields.value as protobuf.Field).resolve();
  const one = valueWriter(value);
  const { resolvedType: type } = value;
  const isClosed = type instanceof protobuf.Enum && isClosedEnum(type);
  return (entries: readonly Message[], out) => {
    out.mark(OPENING_OBJECT);
    let isFirst = true;
    for (const entry of entries) {
      const isSent = Object.hasOwn(entry, 'value');
      // The value of this entry was a number that the closed enum does not define.
      if (isClosed && !isSent) continue;
      if (!isFirst) out.mark(COMMA);
      isFirst = false;
      out.string(String(entry.key));
      out.ascii(':');
      const content = type instanceof protobuf.Type && !isSent ? type.create() : entry.value;
      one(content as never, out);
    }
    out.mark(CLOSING_OBJECT);
  };
}

/** Decodes a message. @throws MalformedError with protobufjs's message, which never quotes the bytes */
function decode(type: protobuf.Type, bytes: Buffer): Message {
  const reader = new CountingReader(bytes);
  try {
    return type.decode(reader) as unknown as Message;
  } catch (error) {
    if (error instanceof RangeError) throw new MalformedError('the data ends too early');
    if (error instanceof TypeError) throw new MalformedError('a string is not UTF-8');
    throw new MalformedError(error instanceof Error ? error.message : 'it cannot be decoded');
  }
}

/** Returns the name in the .proto file. Extensions have Protobuf's JSON name, and groups have protoc's name. */
function jsonName(field: protobuf.Field): string {
  if (field.declaringField) return `[${field.declaringField.fullName.slice(1)}]`;
  const { resolvedType: type, name } = field;
  return type instanceof protobuf.Type && isGroup(type) ? name.toLowerCase() : name;
}

function list(item: WriteValue): WriteValue {
  return (values: readonly never[], out) => {
    out.mark(OPENING);
    for (let i = 0; i < values.length; i++) {
      if (i > 0) out.mark(COMMA);
      item(values[i] as never, out);
    }
    out.mark(CLOSING);
  };
}

function scalar(type: protobuf.Enum | string): WriteValue {
  if (typeof type === 'string') return SCALARS[type] ?? asNumber;
  // If a number has several names, the first applies. A number without a name is written as a number.
  const names = new Map<unknown, Buffer>();
  for (const [name, id] of Object.entries(type.values).reverse())
    names.set(id, Buffer.from(JSON.stringify(name)));
  return (id: number, out) => out.json(names.get(id) ?? Buffer.from(String(id)));
}

/** Writer for numbers (including protobufjs's 64-bit class, exactly) and for true and false. */
const asNumber: WriteValue = (value: unknown, out) => out.ascii(String(value));

/** @param value view of the message's bytes, or an empty list if the field is missing */
function writeBytes(value: Uint8Array | readonly never[], out: JsonWriter): void {
  if (Buffer.isBuffer(value)) out.base64(value, 0, value.length);
  else out.ascii('""');
}

const SCALARS: Readonly<Record<string, WriteValue>> = {
  double: (value: number, out) => out.ascii(doubleJson(value)),
  float: (value: number, out) => out.ascii(floatJson(value)),
  string: (value: string, out) => out.string(value),
  bytes: (value: Uint8Array, out) => writeBytes(value, out),
};

/** Returns true if the enum does not accept unknown numbers. */
function isClosedEnum(type: protobuf.Enum): boolean {
  const { _features: features } = type as unknown as { _features: { enum_type?: string } };
  return features.enum_type === 'CLOSED';
}

/** Writer of a message with a special JSON form. @param field writes the value of a field */
type WellKnown = (message: Message, out: JsonWriter, field: (name: string) => void) => void;

const MAX_NANOS = 999_999_999;

const only =
  (name: string): WellKnown =>
  (_message, _out, field) =>
    field(name);
const text =
  (textOf: (message: Message) => string): WellKnown =>
  (message, out) =>
    out.string(textOf(message));
const WRAPPERS = [
  'Double',
  'Float',
  'Int64',
  'UInt64',
  'Int32',
  'UInt32',
  'Bool',
  'String',
  'Bytes',
];

/** Messages that have a special form in Protobuf's JSON: https://protobuf.dev/programming-guides/json */
const WELL_KNOWN: ReadonlyMap<string, WellKnown> = new Map<string, WellKnown>([
  ...WRAPPERS.map((name) => [`google.protobuf.${name}Value`, only('value')] as const),
  ['google.protobuf.Timestamp', text(timestamp)],
  ['google.protobuf.Duration', text(duration)],
  ['google.protobuf.Any', any],
  ['google.protobuf.Struct', only('fields')],
  ['google.protobuf.ListValue', only('values')],
  ['google.protobuf.Value', value],
  [
    'confluent.type.Decimal',
    ({ value, scale }, out) => out.ascii(decimalJson(value as Buffer, Number(scale))),
  ],
]);

/** @param least minimum value of the nanoseconds @returns whole seconds, and nanoseconds @throws MalformedError */
function timeOf({ seconds, nanos }: Message, least: number): [bigint, number] {
  const fraction = Number(nanos);
  if (!(fraction >= least && fraction <= MAX_NANOS))
    throw new MalformedError('the nanoseconds of a timestamp or a duration are out of range');
  return [BigInt(String(seconds)), fraction];
}

function timestamp(message: Message): string {
  const [seconds, nanos] = timeOf(message, 0);
  return `${timestampText(seconds, 0)}${fraction(nanos)}Z`;
}

function duration(message: Message): string {
  const [seconds, nanos] = timeOf(message, -MAX_NANOS);
  const isNegative = seconds < 0n || nanos < 0;
  if (isNegative && (seconds > 0n || nanos > 0))
    throw new MalformedError('the seconds and nanoseconds of a duration differ in sign');
  const [sign, whole] = isNegative ? ['-', -seconds] : ['', seconds];
  return `${sign}${whole}${fraction(Math.abs(nanos))}s`;
}

/** Returns the fraction of a second with no, three, six or nine digits. */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  return `.${String(nanos)
    .padStart(9, '0')
    .replace(/(?:000){1,2}$/, '')}`;
}

/** Writes the contained message still encoded. Decoding would keep every level of nested messages in memory. */
function any({ type_url: url, value }: Message, out: JsonWriter): void {
  out.ascii('{"@type":');
  out.string(url as string);
  out.ascii(',"value":');
  writeBytes(value as Buffer, out);
  out.mark(CLOSING_OBJECT);
}

/** Writes the one member that is present. If several were sent, it is the last. */
function value(message: Message, out: JsonWriter, field: (name: string) => void): void {
  const [kind = 'null'] = Object.keys(message);
  if (kind.startsWith('null')) out.ascii('null');
  else field(kind);
}
