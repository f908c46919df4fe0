/**
 * Reads Protobuf messages into JSON, from the types that protobufjs made of .proto files. Its own decoders are not used: they do
 * not merge a message that comes in parts, hash 64-bit keys of maps, and give 64-bit integers as objects (docs/formats.md).
 */
import protobuf from 'protobufjs';
import type { Read } from '../binary/binary-event.ts';
import { BrokenBytes, type ByteReader, setMember } from '../binary/byte-reader.ts';
import { isGroup } from './message-path.ts';
import { wellKnownReader } from './well-known.ts';
import {
  delimited,
  eachField,
  GROUP_START,
  group,
  int32,
  int64,
  LENGTH,
  SCALARS,
  type Scalar,
  VARINT,
} from './wire.ts';

/** Readers of messages by their types; a type may hold itself. */
export class MessageReaders {
  readonly #root: protobuf.Root;
  readonly #readers = new Map<protobuf.Type, Read>();

  constructor(root: protobuf.Root) {
    this.#root = root;
  }

  /** Made at its first use: a chain of thousands of types is more than the stack. @param type resolved */
  of(type: protobuf.Type): Read {
    const before = this.#readers.get(type);
    if (before !== undefined) return before;
    let made: Read | undefined;
    const read: Read = (bytes) => {
      made ??=
        wellKnownReader(type.fullName.slice(1), (name) => this.#named(name)) ??
        messageReader(type, this);
      return made(bytes);
    };
    this.#readers.set(type, read);
    return read;
  }

  #named(name: string): Read | undefined {
    const found = this.#root.lookup(`.${name}`);
    return found instanceof protobuf.Type ? this.of(found) : undefined;
  }
}

/** How one field is read; `slot` is its place in the values of a message. */
interface Plan {
  readonly name: string;
  readonly slot: number;
  readonly kind: 'scalar' | 'message' | 'map';
  readonly repeated: boolean;
  /** Absent unless it was sent. */
  readonly presence: boolean;
  readonly required: boolean;
  readonly scalar?: Scalar;
  readonly message?: Read;
  readonly key?: Scalar;
  /** Slots of the other members of its oneof. */
  readonly others: readonly number[];
}

function messageReader(type: protobuf.Type, readers: MessageReaders): Read {
  const fields = type.fieldsArray;
  const plans = fields.map((field, slot) => planOf(field.resolve(), slot, fields, readers));
  const byNumber = new Map(fields.map((field, slot) => [field.id, plans[slot] as Plan]));
  return (bytes) => {
    bytes.countMembers(plans.length, bytes.remaining);
    const values: unknown[] = new Array(plans.length);
    eachField(bytes, (number, wireType) => {
      const plan = byNumber.get(number);
      return plan !== undefined && take(bytes, plan, number, wireType, values);
    });
    const document: Record<string, unknown> = {};
    for (const plan of plans) finish(bytes, plan, values[plan.slot], document);
    return document;
  };
}

/** Reads one occurrence of a field. @returns whether the wire type fits: if not, the field counts as unknown */
function take(
  bytes: ByteReader,
  plan: Plan,
  number: number,
  wireType: number,
  values: unknown[],
): boolean {
  const { slot, kind, scalar } = plan;
  if (kind !== 'scalar') {
    if (wireType !== LENGTH && wireType !== GROUP_START) return false;
    for (const other of plan.others) values[other] = undefined;
    // A message may come in parts, which are merged by reading them as one.
    const part = wireType === LENGTH ? delimited(bytes) : group(bytes, number);
    if (wireType === GROUP_START) bytes.countAgain(part.length);
    list(bytes, values, slot).push(part);
    return true;
  }
  const { read, wireType: own } = scalar as Scalar;
  if (plan.repeated) {
    if (wireType === own) list(bytes, values, slot).push(read(bytes));
    else if (wireType === LENGTH) {
      bytes.inside(delimited(bytes), (packed) => {
        while (packed.remaining > 0) list(packed, values, slot).push(read(packed));
      });
    } else return false;
    return true;
  }
  if (wireType !== own) return false;
  for (const other of plan.others) values[other] = undefined;
  values[slot] = read(bytes);
  return true;
}

/** Before an item is added. */
function list(bytes: ByteReader, values: unknown[], slot: number): unknown[] {
  bytes.countItems(1);
  values[slot] ??= [];
  return values[slot] as unknown[];
}

function finish(
  bytes: ByteReader,
  plan: Plan,
  value: unknown,
  document: Record<string, unknown>,
): void {
  const { name, kind, scalar, message } = plan;
  if (kind === 'map') {
    const members: Record<string, unknown> = {};
    for (const entry of (value ?? []) as Buffer[])
      bytes.inside(entry, () => setEntry(bytes, plan, members));
    setMember(document, name, members);
  } else if (plan.repeated) {
    const items = (value ?? []) as unknown[];
    setMember(
      document,
      name,
      kind === 'scalar'
        ? items
        : items.map((part) => bytes.inside(part as Buffer, message as Read)),
    );
  } else if (value === undefined) {
    if (plan.required) throw new BrokenBytes(`the required field ${name} is missing`);
    if (!plan.presence) setMember(document, name, (scalar as Scalar).fallback);
  } else if (kind === 'message') {
    setMember(document, name, bytes.inside(bytes.joined(value as Buffer[]), message as Read));
  } else {
    setMember(document, name, value);
  }
}

function setEntry(bytes: ByteReader, plan: Plan, members: Record<string, unknown>): void {
  const keyScalar = plan.key as Scalar;
  let key = keyScalar.fallback;
  let value: unknown;
  const parts: Buffer[] = [];
  eachField(bytes, (number, wireType) => {
    if (number === 1 && wireType === keyScalar.wireType) key = keyScalar.read(bytes);
    else if (number === 2 && plan.message !== undefined && wireType === LENGTH)
      parts.push(delimited(bytes));
    else if (number === 2 && wireType === plan.scalar?.wireType) value = plan.scalar.read(bytes);
    else return false;
    return true;
  });
  value =
    plan.message === undefined
      ? (value ?? plan.scalar?.fallback)
      : bytes.inside(bytes.joined(parts), plan.message);
  setMember(members, String(key), value);
}

function planOf(
  field: protobuf.Field,
  slot: number,
  fields: readonly protobuf.Field[],
  readers: MessageReaders,
): Plan {
  const { resolvedType: type, partOf } = field;
  const value =
    type instanceof protobuf.Type
      ? { message: readers.of(type) }
      : { scalar: type instanceof protobuf.Enum ? enumScalar(type) : scalarOf(field.type) };
  return {
    name: nameOf(field),
    slot,
    kind: field.map ? 'map' : 'message' in value ? 'message' : 'scalar',
    repeated: field.repeated,
    presence: Boolean(field.hasPresence) || 'message' in value,
    required: field.required,
    ...value,
    ...(field instanceof protobuf.MapField ? { key: keyOf(field.keyType) } : {}),
    others:
      partOf === null
        ? []
        : fields.flatMap((other, index) =>
            other !== field && other.partOf === partOf ? [index] : [],
          ),
  };
}

/** As in the .proto file; an extension as Protobuf's JSON writes it, a group as protoc names its field. */
function nameOf(field: protobuf.Field): string {
  if (field.declaringField) return `[${field.declaringField.fullName.slice(1)}]`;
  return field.resolvedType instanceof protobuf.Type && isGroup(field.resolvedType)
    ? field.name.toLowerCase()
    : field.name;
}

function scalarOf(type: string): Scalar {
  const scalar = SCALARS[type];
  if (scalar === undefined) throw new Error(`${type} is no type of Protobuf`);
  return scalar;
}

const EXACT_KEYS: Readonly<Record<string, Read>> = {
  int64,
  uint64: (bytes) => bytes.varint(),
  sint64: (bytes) => bytes.zigzag(),
  fixed64: (bytes) => bytes.bytes.readBigUInt64LE(bytes.take(8)),
  sfixed64: (bytes) => bytes.bytes.readBigInt64LE(bytes.take(8)),
};

/** Keys become texts, which have all digits of a bigint. */
function keyOf(type: string): Scalar {
  const exact = EXACT_KEYS[type];
  const scalar = scalarOf(type);
  return exact === undefined ? scalar : { ...scalar, read: exact };
}

/** The name of a number; of several the one declared first. A number without a name stays a number. */
function enumScalar(type: protobuf.Enum): Scalar {
  const names = new Map<number, string>();
  for (const [name, number] of Object.entries(type.values))
    if (!names.has(number)) names.set(number, name);
  const first = Object.values(type.values)[0] ?? 0;
  const nameOrNumber = (number: number) => names.get(number) ?? number;
  return {
    wireType: VARINT,
    fallback: nameOrNumber(names.has(0) ? 0 : first),
    read: (bytes) => nameOrNumber(int32(bytes)),
  };
}
