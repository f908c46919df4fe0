/** Messages that Protobuf's JSON writes in a way of their own. https://protobuf.dev/programming-guides/json */
import type { Read } from '../binary/binary-event.ts';
import { BrokenBytes, type ByteReader, setMember } from '../binary/byte-reader.ts';
import { decimalText, unscaledOf } from '../binary/decimal.ts';
import { timestampText } from '../binary/moments.ts';
import {
  delimited,
  eachField,
  FIXED_64,
  int32,
  int64,
  LENGTH,
  SCALARS,
  type Scalar,
  VARINT,
} from './wire.ts';

/** @param named reads a message by its full name, for Any. @returns undefined for a message that is written as all are */
export function wellKnownReader(
  fullName: string,
  named: (name: string) => Read | undefined,
): Read | undefined {
  if (fullName === 'google.protobuf.Any') return (bytes) => any(bytes, named);
  return READERS.get(fullName);
}

const WRAPPED: Readonly<Record<string, string>> = {
  DoubleValue: 'double',
  FloatValue: 'float',
  Int64Value: 'int64',
  UInt64Value: 'uint64',
  Int32Value: 'int32',
  UInt32Value: 'uint32',
  BoolValue: 'bool',
  StringValue: 'string',
  BytesValue: 'bytes',
};

const READERS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ...Object.entries(WRAPPED).map(([name, scalar]): [string, Read] => [
    `google.protobuf.${name}`,
    wrapper(SCALARS[scalar] as Scalar),
  ]),
  ['google.protobuf.Timestamp', timestamp],
  ['google.protobuf.Duration', duration],
  ['google.protobuf.FieldMask', fieldMask],
  ['google.protobuf.Struct', struct],
  ['google.protobuf.Value', value],
  ['google.protobuf.ListValue', listValue],
  ['confluent.type.Decimal', decimal],
]);

/** Whether no message of this name is an object: all that JSON writes in a way of its own, but for these. */
export function isNeverObject(fullName: string): boolean {
  return (
    READERS.has(fullName) &&
    fullName !== 'google.protobuf.Struct' &&
    fullName !== 'google.protobuf.Value'
  );
}

function wrapper(scalar: Scalar): Read {
  return (bytes) => {
    let wrapped = scalar.fallback;
    eachField(bytes, (field, wireType) => {
      if (field !== 1 || wireType !== scalar.wireType) return false;
      wrapped = scalar.read(bytes);
      return true;
    });
    return wrapped;
  };
}

function secondsAndNanos(bytes: ByteReader): { readonly seconds: bigint; readonly nanos: number } {
  let seconds: number | bigint = 0;
  let nanos = 0;
  eachField(bytes, (field, wireType) => {
    if (wireType !== VARINT || field > 2) return false;
    if (field === 1) seconds = int64(bytes);
    else nanos = int32(bytes);
    return true;
  });
  if (Math.abs(nanos) > 999_999_999)
    throw new BrokenBytes('a timestamp or a duration has more than a second of nanoseconds');
  return { seconds: BigInt(seconds), nanos };
}

function timestamp(bytes: ByteReader): string {
  const { seconds, nanos } = secondsAndNanos(bytes);
  if (nanos < 0) throw new BrokenBytes('a timestamp has negative nanoseconds');
  return `${timestampText(seconds, 0)}${fraction(nanos)}Z`;
}

function duration(bytes: ByteReader): string {
  const { seconds, nanos } = secondsAndNanos(bytes);
  if ((seconds < 0n && nanos > 0) || (seconds > 0n && nanos < 0))
    throw new BrokenBytes('a duration has two signs');
  const sign = seconds < 0n || nanos < 0 ? '-' : '';
  return `${sign}${seconds < 0n ? -seconds : seconds}${fraction(Math.abs(nanos))}s`;
}

/** None, three, six or nine digits. */
function fraction(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  return `.${digits.endsWith('000000') ? digits.slice(0, 3) : digits.endsWith('000') ? digits.slice(0, 6) : digits}`;
}

function fieldMask(bytes: ByteReader): string {
  const paths: string[] = [];
  eachField(bytes, (field, wireType) => {
    if (field !== 1 || wireType !== LENGTH) return false;
    paths.push(
      bytes
        .text(Number(bytes.varint()))
        .replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    );
    return true;
  });
  return paths.join(',');
}

function struct(bytes: ByteReader): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  eachField(bytes, (field, wireType) => {
    if (field !== 1 || wireType !== LENGTH) return false;
    bytes.inside(delimited(bytes), () => structEntry(bytes, members));
    return true;
  });
  return members;
}

function structEntry(bytes: ByteReader, members: Record<string, unknown>): void {
  let key = '';
  const parts: Buffer[] = [];
  eachField(bytes, (field, wireType) => {
    if (wireType !== LENGTH || field > 2) return false;
    if (field === 1) key = bytes.text(Number(bytes.varint()));
    else parts.push(delimited(bytes));
    return true;
  });
  setMember(members, key, bytes.inside(bytes.joined(parts), value));
}

/** Which of the kinds was sent last decides; parts of one struct or list are merged. */
function value(bytes: ByteReader): unknown {
  let result: unknown = null;
  let kind = 0;
  let parts: Buffer[] = [];
  eachField(bytes, (field, wireType) => {
    if (wireType !== (VALUE_WIRE_TYPES[field] ?? -1)) return false;
    if (field >= 5) {
      if (kind !== field) parts = [];
      parts.push(delimited(bytes));
    } else if (field === 1) {
      bytes.varint();
      result = null;
    } else if (field === 2) result = SCALARS.double?.read(bytes);
    else if (field === 3) result = bytes.text(Number(bytes.varint()));
    else result = SCALARS.bool?.read(bytes);
    kind = field;
    return true;
  });
  if (kind < 5) return result;
  return bytes.inside<unknown>(bytes.joined(parts), kind === 5 ? struct : listValue);
}

/** null_value, number_value, string_value, bool_value, struct_value, list_value. */
const VALUE_WIRE_TYPES: readonly (number | undefined)[] = [
  undefined,
  VARINT,
  FIXED_64,
  LENGTH,
  VARINT,
  LENGTH,
  LENGTH,
];

function listValue(bytes: ByteReader): unknown[] {
  const items: unknown[] = [];
  eachField(bytes, (field, wireType) => {
    if (field !== 1 || wireType !== LENGTH) return false;
    items.push(bytes.inside(delimited(bytes), value));
    return true;
  });
  return items;
}

/** A message of a type that the schema knows, or else its bytes: whoever knows it can still read them. */
function any(
  bytes: ByteReader,
  named: (name: string) => Read | undefined,
): Record<string, unknown> {
  let url = '';
  let data: Buffer = Buffer.alloc(0);
  eachField(bytes, (field, wireType) => {
    if (wireType !== LENGTH || field > 2) return false;
    if (field === 1) url = bytes.text(Number(bytes.varint()));
    else data = delimited(bytes);
    return true;
  });
  if (url === '') return {};
  const name = url.slice(url.lastIndexOf('/') + 1);
  const read = named(name);
  if (read === undefined) return { '@type': url, value: data.toString('base64') };
  const message = bytes.inside(data, read);
  if (READERS.has(name) || name === 'google.protobuf.Any') return { '@type': url, value: message };
  return { '@type': url, ...(message as object) };
}

/** Confluent's: an integer in bytes, and its scale. */
function decimal(bytes: ByteReader): unknown {
  let unscaled = 0n;
  let scale = 0;
  eachField(bytes, (field, wireType) => {
    if (field === 1 && wireType === LENGTH) unscaled = unscaledOf(delimited(bytes));
    else if (field === 3 && wireType === VARINT) scale = int32(bytes);
    else return false;
    return true;
  });
  return bytes.number(decimalText(unscaled, scale));
}
