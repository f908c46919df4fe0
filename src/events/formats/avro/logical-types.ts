/**
 * Avro's logical types as JSON. avsc is given their names, so that its types
 * carry them; a definition that the specification calls invalid (a decimal without precision) is
 * read as its plain type, as the specification requires.
 */
import avsc from 'avsc';
import type { JsonWriter } from '../../../../packages/client/src/base/json/json-writer.ts';
import { MalformedError } from '../../../../packages/client/src/base/varint-reader.ts';
import {
  dateText,
  decimalJson,
  MAX_SCALE,
  timeOfDayText,
  timestampText,
} from '../binary/json-values.ts';
import type { ByteReader, WriteAvro } from './byte-reader.ts';

interface LogicalDefinition {
  readonly logicalType: string;
  readonly precision?: unknown;
  readonly scale?: unknown;
}

/**
 * @param plain name of the underlying type
 * @param size bytes of a fixed type; undefined for every other
 * @returns undefined when the definition is invalid
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
  'big-decimal': only('bytes', bigDecimal),
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
  duration: (_, size) => (size === 12 ? duration : undefined),
};

/** A type of avsc with the way to write its values. */
export class LogicalType extends avsc.types.LogicalType {
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

/** Bytes that hold the integer, as bytes, and the scale, as an int. */
function bigDecimal(bytes: ByteReader, out: JsonWriter): void {
  const size = bytes.length();
  const end = bytes.at + size;
  const unscaled = bytes.slice(bytes.length());
  out.ascii(decimalJson(unscaled, bytes.int()));
  if (bytes.at !== end) throw new MalformedError('the length of a big-decimal is wrong');
}

function uuid(plain: string, size: number | undefined): WriteAvro | undefined {
  if (plain === 'string') return (bytes, out) => bytes.writeText(out);
  if (size !== 16) return undefined;
  return (bytes, out) => {
    const hex = bytes.slice(16).toString('hex');
    out.ascii(`"${hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}"`);
  };
}

/** Months, days and milliseconds, which do not convert into one another. */
function duration(bytes: ByteReader, out: JsonWriter): void {
  const part = bytes.slice(12);
  const [months, days, millis] = [0, 4, 8].map((offset) => part.readUInt32LE(offset)) as [
    number,
    number,
    number,
  ];
  const date = (months === 0 ? '' : `${months}M`) + (days === 0 ? '' : `${days}D`);
  out.ascii(`"P${date}${millis === 0 && date !== '' ? '' : `T${millis / 1_000}S`}"`);
}
