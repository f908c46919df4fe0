/**
 * Protobuf messages as JSON. protobufjs decodes them, with limits on depth and on the number of
 * fields; this file turns decoded messages into Protobuf's JSON (docs/formats.md).
 */
import protobuf from 'protobufjs';
import { keepNumber } from '../../../base/json/exact-json.ts';
import {
  jsonDecimal,
  jsonDouble,
  jsonFloat,
  setMember,
  timestampText,
} from '../binary/json-values.ts';
import {
  BrokenBytes,
  MAX_DEPTH,
  MAX_ITEMS,
  TOO_MANY_ITEMS,
  ValueLimits,
} from '../binary/limits.ts';

protobuf.Reader.recursionLimit = MAX_DEPTH;
/** Fields in the bytes of a value, whatever they hold: an item of a list may have several. */
const MAX_FIELDS = 2 * MAX_ITEMS;

type MessageMembers = Record<string, unknown>;
/** Turns a decoded value of one type into JSON. */
type ToJson = (value: unknown, limits: ValueLimits) => unknown;

/** Readers of the messages of one schema; a type may hold itself. */
export class MessageReaders {
  readonly #types: ReadonlyMap<string, protobuf.Type>;
  readonly #known = new Map<protobuf.Type, ToJson>();

  /** @param types every type of the schema, by its full name */
  constructor(types: ReadonlyMap<string, protobuf.Type>) {
    this.#types = types;
    // protobufjs would make a list for each repeated field of each empty message.
    for (const type of types.values()) type.ctor = class extends protobuf.Message {};
  }

  /** @returns JSON of the whole of `bytes`. @param type resolved. @throws BrokenBytes */
  read(type: protobuf.Type, bytes: Buffer): unknown {
    const limits = new ValueLimits(bytes.length);
    return this.#message(type)(decode(type, bytes), limits);
  }

  /** Made at its first use: a chain of thousands of types is more than the stack. */
  #message(type: protobuf.Type): ToJson {
    const before = this.#known.get(type);
    if (before !== undefined) return before;

    let made: ToJson | undefined;
    const toJson: ToJson = (message, limits) => {
      made ??= this.#make(type);
      const write = made;
      return limits.nested(() => write(message, limits));
    };
    this.#known.set(type, toJson);
    return toJson;
  }

  #make(type: protobuf.Type): ToJson {
    const name = type.fullName.slice(1);
    if (name === 'google.protobuf.Any') return (message, limits) => this.#any(message, limits);

    const fields = type.fieldsArray.map((field) => this.#field(field.resolve()));
    const plain = (message: unknown, limits: ValueLimits): MessageMembers => {
      const json: MessageMembers = {};
      limits.countMembers(fields.length);
      for (const { name, property, always, toJson } of fields)
        if (always || Object.hasOwn(message as object, property))
          setMember(json, name, toJson((message as MessageMembers)[property], limits));
      return json;
    };
    const special = WELL_KNOWN.get(name);
    if (special === undefined) return plain;
    return (message, limits) => special(plain(message, limits), message as MessageMembers);
  }

  #field(field: protobuf.Field) {
    const { resolvedType: type, name: property } = field;
    const single = type instanceof protobuf.Type ? this.#message(type) : scalar(type ?? field.type);
    return {
      name: jsonName(field),
      property,
      /** True if it is there without having been sent. */
      always: field.map || field.repeated || !(field.hasPresence || type instanceof protobuf.Type),
      toJson:
        field instanceof protobuf.MapField
          ? map(field.keyType, single)
          : field.repeated
            ? list(single)
            : single,
    };
  }

  /** The message, where the schema knows its type; otherwise its bytes. */
  #any(message: unknown, limits: ValueLimits): MessageMembers {
    const { type_url: url, value } = message as { type_url: string; value: Buffer };
    if (url === '') return {};
    const name = url.slice(url.lastIndexOf('/') + 1);
    // Not protobufjs's lookup: it keeps each name, and takes the square of the length of one.
    const type = this.#types.get(name);
    if (type === undefined) return { '@type': url, value: base64(value) };

    const inner = this.#message(type)(decode(type, value), limits);
    const special = WELL_KNOWN.has(name) || name === 'google.protobuf.Any';
    return { '@type': url, ...(special ? { value: inner } : (inner as object)) };
  }
}

/** Reader that counts fields and numbers before they take memory. */
class CountingReader extends protobuf.BufferReader {
  #fields = 0;
  #numbers = 0;

  override tag(): number {
    if (++this.#fields > MAX_FIELDS) throw new BrokenBytes(TOO_MANY_ITEMS);
    return super.tag();
  }

  /** Also the texts of proto2, which may be anything by its rules. */
  override string(): string {
    return this.stringVerify();
  }

  /** Also each number of a packed list of enums. */
  override int32(): number {
    this.#countNumbers(1);
    return super.int32();
  }

  /** Counts the varints of the packed list that comes next. */
  countPacked(): void {
    const { pos } = this;
    const bytes = this.bytes();
    this.pos = pos;
    let numbers = 0;
    for (const byte of bytes) if (byte < 0x80) numbers++;
    this.#countNumbers(numbers);
  }

  #countNumbers(count: number): void {
    this.#numbers += count;
    if (this.#numbers > MAX_FIELDS) throw new BrokenBytes(TOO_MANY_ITEMS);
  }
}

/** Lists of numbers that may take a byte each; a number of fixed length is no smaller than its bytes. */
for (const name of ['bools', 'int32s', 'uint32s', 'sint32s', 'int64s', 'uint64s', 'sint64s']) {
  const read: unknown = Reflect.get(protobuf.Reader.prototype, name);
  Object.defineProperty(CountingReader.prototype, name, {
    value(this: CountingReader, items?: unknown[]) {
      this.countPacked();
      return (read as (items?: unknown[]) => unknown).call(this, items);
    },
  });
}

/** @throws BrokenBytes with the message of protobufjs, which quotes nothing of the bytes */
function decode(type: protobuf.Type, bytes: Buffer): unknown {
  const reader = new CountingReader(bytes);
  try {
    return type.decode(reader);
  } catch (error) {
    if (error instanceof RangeError) throw new BrokenBytes('the data ends too early');
    if (error instanceof TypeError) throw new BrokenBytes('a text is not UTF-8');
    throw new BrokenBytes(error instanceof Error ? error.message : 'it cannot be decoded');
  }
}

/** Name in the .proto file; of an extension as in Protobuf's JSON, of a group as protoc has it. */
function jsonName(field: protobuf.Field): string {
  if (field.declaringField) return `[${field.declaringField.fullName.slice(1)}]`;
  const { resolvedType: type, name } = field;
  return type instanceof protobuf.Type && isGroup(type) ? name.toLowerCase() : name;
}

/** True if a message is the content of a proto2 group: a member that protobufjs does not declare. */
export function isGroup(type: protobuf.Type): boolean {
  return (type as { readonly group?: unknown }).group === true;
}

function list(item: ToJson): ToJson {
  return (values, limits) => {
    limits.countItems((values as unknown[]).length);
    return (values as unknown[]).map((value) => item(value, limits));
  };
}

function map(keyType: string, value: ToJson): ToJson {
  // protobufjs writes the eight bytes of a 64-bit key as characters, but 0 for one that is missing.
  const keyOf = (key: string): string =>
    keyType.endsWith('64') && key.length === 8
      ? String(protobuf.util.longFromHash(key, /^(?:u|fixed)/.test(keyType)))
      : key;
  return (values, limits) => {
    const members: MessageMembers = {};
    const entries = Object.entries(values as MessageMembers);
    limits.countItems(entries.length);
    for (const [key, item] of entries) setMember(members, keyOf(key), value(item, limits));
    return members;
  };
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function scalar(type: protobuf.Enum | string): ToJson {
  if (typeof type !== 'string') {
    // Of several names of a number the first one counts. A number without a name stays a number.
    const names = new Map<unknown, string>();
    for (const [name, id] of Object.entries(type.values).reverse()) names.set(id, name);
    return (id) => names.get(id) ?? id;
  }
  return SCALARS[type] ?? ((value) => value);
}

/** Exact, and a number while that is possible. @param value of protobufjs's class for 64 bits */
const long: ToJson = (value) => {
  const number = Number((value as { toNumber(): number }).toNumber());
  return Number.isSafeInteger(number) ? number : keepNumber(String(value));
};

const SCALARS: Readonly<Record<string, ToJson>> = {
  double: (value) => jsonDouble(value as number),
  float: (value) => jsonFloat(value as number),
  bytes: (value) => base64(value as Uint8Array),
  int64: long,
  uint64: long,
  sint64: long,
  fixed64: long,
  sfixed64: long,
};

/** Turns a message into JSON, from the JSON of its fields and from the decoded message. */
type WellKnown = (json: MessageMembers, message: MessageMembers) => unknown;

const MAX_NANOS = 999_999_999;

const wrapped: WellKnown = ({ value }) => value;
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

/** Messages that Protobuf's JSON writes in a way of their own: https://protobuf.dev/programming-guides/json */
const WELL_KNOWN: ReadonlyMap<string, WellKnown> = new Map<string, WellKnown>([
  ...WRAPPERS.map((name) => [`google.protobuf.${name}Value`, wrapped] as const),
  ['google.protobuf.Timestamp', (_, message) => timestamp(message)],
  ['google.protobuf.Duration', (_, message) => duration(message)],
  ['google.protobuf.FieldMask', ({ paths }) => fieldMask(paths as string[])],
  ['google.protobuf.Struct', ({ fields }) => fields],
  ['google.protobuf.ListValue', ({ values }) => values],
  ['google.protobuf.Value', value],
  ['confluent.type.Decimal', (_, { value, scale }) => jsonDecimal(value as Buffer, Number(scale))],
]);

/** True if no message of this name is an object: all of those above, except these. */
export function isNeverObject(fullName: string): boolean {
  return WELL_KNOWN.has(fullName) && !/\.(?:Struct|Value)$/.test(fullName);
}

/** @param least nanoseconds @returns whole seconds, and nanoseconds. @throws BrokenBytes */
function timeOf({ seconds, nanos }: MessageMembers, least: number): [bigint, number] {
  const fraction = Number(nanos);
  if (!(fraction >= least && fraction <= MAX_NANOS))
    throw new BrokenBytes('the nanoseconds of a timestamp or a duration are out of range');
  return [BigInt(String(seconds)), fraction];
}

function timestamp(message: MessageMembers): string {
  const [seconds, nanos] = timeOf(message, 0);
  return `${timestampText(seconds, 0)}${fraction(nanos)}Z`;
}

function duration(message: MessageMembers): string {
  const [seconds, nanos] = timeOf(message, -MAX_NANOS);
  const isNegative = seconds < 0n || nanos < 0;
  if (isNegative && (seconds > 0n || nanos > 0)) throw new BrokenBytes('a duration has two signs');
  const [sign, whole] = isNegative ? ['-', -seconds] : ['', seconds];
  return `${sign}${whole}${fraction(Math.abs(nanos))}s`;
}

/** None, three, six or nine digits. */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  return `.${String(nanos)
    .padStart(9, '0')
    .replace(/(?:000){1,2}$/, '')}`;
}

function fieldMask(paths: readonly string[]): string {
  return paths
    .map((path) => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))
    .join(',');
}

/** Value of the one member that is there: the one sent last. */
function value(json: MessageMembers): unknown {
  const [[kind, content] = ['null']] = Object.entries(json);
  return kind.startsWith('null') ? null : content;
}
