/**
 * Avro's logical types, and what they are in JSON. avsc is told their names, so that its types carry them; a definition that the
 * specification calls invalid (a decimal without precision) is its plain type, as the specification wants it.
 */
import avsc from 'avsc';
import type { Read } from '../binary/binary-event.ts';
import type { ByteReader } from '../binary/byte-reader.ts';
import { BrokenBytes } from '../binary/byte-reader.ts';
import { decimalText, MAX_SCALE, unscaledOf } from '../binary/decimal.ts';
import { dateText, isTimeOfDay, timestampText, timeText } from '../binary/moments.ts';

/** A type of avsc with the way to read it. */
export abstract class LogicalType extends avsc.types.LogicalType {
  abstract readonly read: Read;
}

interface Attributes {
  readonly precision?: unknown;
  readonly scale?: unknown;
}

/** @returns undefined when the definition is invalid */
type Define = (underlying: avsc.Type, attributes: Attributes) => Read | undefined;

type LogicalTypeClass = new (schema: avsc.Schema, options?: unknown) => LogicalType;

function logicalType(define: Define): LogicalTypeClass {
  return class extends LogicalType {
    readonly read: Read;

    constructor(schema: avsc.Schema, options?: unknown) {
      super(schema, options);
      const read = define(this.underlyingType, schema as Attributes);
      if (read === undefined) throw new Error('invalid logical type');
      this.read = read;
    }
  };
}

const only = (name: string, read: Read): Define => {
  return (underlying) => (underlying.typeName === name ? read : undefined);
};

export const LOGICAL_TYPES: Readonly<Record<string, LogicalTypeClass>> = {
  decimal: logicalType(decimal),
  'big-decimal': logicalType(only('bytes', bigDecimal)),
  uuid: logicalType(uuid),
  date: logicalType(only('int', (bytes) => dateText(int(bytes)))),
  'time-millis': logicalType(only('int', (bytes) => timeOfDay(int(bytes), 3))),
  'time-micros': logicalType(only('long', (bytes) => timeOfDay(bytes.zigzag(), 6))),
  'timestamp-millis': logicalType(only('long', (bytes) => `${timestampText(bytes.zigzag(), 3)}Z`)),
  'timestamp-micros': logicalType(only('long', (bytes) => `${timestampText(bytes.zigzag(), 6)}Z`)),
  'timestamp-nanos': logicalType(only('long', (bytes) => `${timestampText(bytes.zigzag(), 9)}Z`)),
  'local-timestamp-millis': logicalType(only('long', (bytes) => timestampText(bytes.zigzag(), 3))),
  'local-timestamp-micros': logicalType(only('long', (bytes) => timestampText(bytes.zigzag(), 6))),
  'local-timestamp-nanos': logicalType(only('long', (bytes) => timestampText(bytes.zigzag(), 9))),
  duration: logicalType(duration),
};

/** Avro's int: a zigzag varint of 32 bits. @throws BrokenBytes */
export function int(bytes: ByteReader): number {
  const value = Number(bytes.zigzag());
  if ((value | 0) !== value) throw new BrokenBytes('an int has more than 32 bits');
  return value;
}

/** The length in front of bytes and texts. */
export function length(bytes: ByteReader): number {
  return Number(bytes.zigzag());
}

function sizeOf(type: avsc.Type): number | undefined {
  return type.typeName === 'fixed' ? (type as avsc.types.FixedType).size : undefined;
}

function decimal(underlying: avsc.Type, { precision, scale = 0 }: Attributes): Read | undefined {
  if (
    !isCount(precision) ||
    precision === 0 ||
    !isCount(scale) ||
    scale > precision ||
    scale > MAX_SCALE
  )
    return undefined;
  const size = sizeOf(underlying);
  if (size !== undefined)
    return (bytes) => bytes.number(decimalText(unscaledOf(bytes.part(size)), scale));
  if (underlying.typeName !== 'bytes') return undefined;
  return (bytes) => bytes.number(decimalText(unscaledOf(bytes.part(length(bytes))), scale));
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0;
}

/** Bytes that hold the integer, as bytes, and the scale, as an int. */
function bigDecimal(bytes: ByteReader): unknown {
  const size = length(bytes);
  const end = bytes.position + size;
  const unscaled = unscaledOf(bytes.part(length(bytes)));
  const scale = int(bytes);
  if (bytes.position !== end) throw new BrokenBytes('a big-decimal is not as long as it says');
  return bytes.number(decimalText(unscaled, scale));
}

function uuid(underlying: avsc.Type): Read | undefined {
  if (underlying.typeName === 'string') return (bytes) => bytes.text(length(bytes));
  if (sizeOf(underlying) !== 16) return undefined;
  return (bytes) =>
    bytes
      .part(16)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function timeOfDay(units: number | bigint, digits: number): string {
  if (!isTimeOfDay(units, digits)) throw new BrokenBytes('a time of day is outside of a day');
  return timeText(units, digits);
}

/** Months, days and milliseconds, which do not convert into one another. */
function duration(underlying: avsc.Type): Read | undefined {
  if (sizeOf(underlying) !== 12) return undefined;
  return (bytes) => {
    const part = bytes.part(12);
    const [months, days, millis] = [0, 4, 8].map((offset) => part.readUInt32LE(offset)) as [
      number,
      number,
      number,
    ];
    const fraction = millis % 1_000 === 0 ? '' : `.${String(millis % 1_000).padStart(3, '0')}`;
    const date = (months === 0 ? '' : `${months}M`) + (days === 0 ? '' : `${days}D`);
    const time = millis === 0 && date !== '' ? '' : `T${Math.floor(millis / 1_000)}${fraction}S`;
    return `P${date}${time}`;
  };
}
