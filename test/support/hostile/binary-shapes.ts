/** Avro and Protobuf events that take far more memory or time to read than their size suggests. */
import type { CostlyValue } from './json-shapes.ts';

const LONG = 'long';
export const COSTLY_AVRO = JSON.stringify({
  type: 'record',
  name: 'Event',
  fields: [
    { name: 'type', type: 'string' },
    { name: 'content', type: 'string' },
    { name: 'longs', type: { type: 'map', values: LONG } },
    { name: 'texts', type: { type: 'array', items: 'string' } },
    { name: 'nothing', type: { type: 'array', items: 'null' } },
    { name: 'floats', type: { type: 'array', items: 'float' } },
    {
      name: 'times',
      type: { type: 'array', items: { type: LONG, logicalType: 'timestamp-micros' } },
    },
    {
      name: 'decimals',
      type: {
        type: 'array',
        items: { type: 'bytes', logicalType: 'decimal', precision: 2_000, scale: 10 },
      },
    },
    { name: 'lists', type: { type: 'array', items: { type: 'array', items: LONG } } },
    { name: 'bytes', type: 'bytes' },
    {
      name: 'records',
      type: {
        type: 'array',
        items: {
          type: 'record',
          name: 'Wide',
          fields: Array.from({ length: 30 }, (_, n) => ({ name: `wide_field_${n}`, type: 'null' })),
        },
      },
    },
    {
      name: 'deep',
      type: [
        'null',
        {
          type: 'record',
          name: 'Deep',
          fields: [{ name: 'deep', type: ['null', 'Deep'] }],
        },
      ],
    },
  ],
});
const AVRO_FIELDS = [
  'longs',
  'texts',
  'nothing',
  'floats',
  'times',
  'decimals',
  'lists',
  'bytes',
  'records',
  'deep',
] as const;

/** Adds the registry's frame with a schema id to a value. @param indexes of the Protobuf message */
function framed(id: number, payload: Buffer, indexes: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, indexes, payload]);
}

/** Base-128 varint. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}
const zigzag = (value: number) => varint(2 * value);
const avroText = (text: string | Buffer) =>
  Buffer.concat([zigzag(Buffer.byteLength(text)), Buffer.from(text)]);

/** Avro list of one block of items, with the end of the list. */
const block = (count: number, items: Buffer) => Buffer.concat([zigzag(count), items, Buffer.of(0)]);
const repeated = (count: number, item: Buffer) => Buffer.alloc(count * item.length, item);

/** Returns an event with these fields; the others are empty. */
export function avroEvent(fields: Partial<Record<(typeof AVRO_FIELDS)[number], Buffer>>): Buffer {
  const rest = AVRO_FIELDS.map((name) => fields[name] ?? Buffer.of(0));
  return framed(1, Buffer.concat([avroText('post'), avroText('x'), ...rest]));
}

export function costlyAvro(): CostlyValue[] {
  const names = Array.from({ length: 1_000_000 }, (_, n) =>
    Buffer.concat([avroText(n.toString(36)), Buffer.of(0)]),
  );
  const float = Buffer.alloc(4);
  float.writeFloatLE(1.234_567_9e-30);
  const decimal = avroText(Buffer.alloc(800, 0x7d));
  const values: Readonly<Record<string, Buffer>> = {
    'a map of a million numbers': avroEvent({ longs: block(names.length, Buffer.concat(names)) }),
    'a million empty texts': avroEvent({ texts: block(1_000_000, Buffer.alloc(1_000_000)) }),
    'a billion nulls in five bytes': avroEvent({ nothing: block(1_000_000_000, Buffer.alloc(0)) }),
    'a hundred thousand nulls': avroEvent({ nothing: block(100_000, Buffer.alloc(0)) }),
    'a million floats': avroEvent({ floats: block(1_000_000, repeated(1_000_000, float)) }),
    'a million timestamps': avroEvent({ times: block(1_000_000, Buffer.alloc(1_000_000)) }),
    'decimals of two thousand digits': avroEvent({
      decimals: block(20_000, repeated(20_000, decimal)),
    }),
    'a million empty lists': avroEvent({ lists: block(1_000_000, Buffer.alloc(1_000_000)) }),
    'bytes as long as a record': avroEvent({ bytes: avroText(Buffer.alloc(18_000_000)) }),
    'records without a byte': avroEvent({ records: block(100_000, Buffer.alloc(0)) }),
    'records as deep as the bytes are long': avroEvent({
      deep: Buffer.concat([repeated(5_000_000, zigzag(1)), Buffer.of(0)]),
    }),
  };
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

export const COSTLY_PROTOBUF = `syntax = "proto3";
import "google/protobuf/any.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
message Event {
  string type = 1;
  string content = 2;
  map<string, int64> longs = 3;
  repeated string texts = 4;
  repeated Wide wide = 5;
  repeated float floats = 6;
  repeated google.protobuf.Timestamp times = 7;
  google.protobuf.Struct document = 8;
  Event deep = 9;
  repeated int64 numbers = 10;
  bytes bytes = 11;
  map<string, Wide> wides = 12;
  repeated google.protobuf.Any anys = 13;
  google.protobuf.FieldMask mask = 14;
}
message Wide {
${Array.from({ length: 30 }, (_, n) => `  string wide_field_${n} = ${n + 1};`).join('\n')}
}
`;

/** Length-delimited field: text, message or packed list. */
const protobufField = (number: number, content: Buffer | string) =>
  Buffer.concat([varint(number * 8 + 2), varint(Buffer.byteLength(content)), Buffer.from(content)]);

export function protobufEvent(...fields: readonly Buffer[]): Buffer {
  const payload = [protobufField(1, 'post'), protobufField(2, 'x'), ...fields];
  return framed(2, Buffer.concat(payload), Buffer.of(0));
}

export function costlyProtobuf(): CostlyValue[] {
  const empty = (number: number) => protobufField(number, Buffer.alloc(0));
  const entries = Array.from({ length: 700_000 }, (_, n) =>
    protobufField(3, protobufField(1, n.toString(36))),
  );
  const float = Buffer.alloc(4);
  float.writeFloatLE(1.234_567_9e-30);
  // Member of the Struct: a name, and a Value that is a list of nulls.
  const nulls = protobufField(6, repeated(900_000, protobufField(1, Buffer.from([0x08, 0x00]))));
  const member = Buffer.concat([protobufField(1, 'm'), protobufField(2, nulls)]);
  const values: Readonly<Record<string, Buffer>> = {
    'a map of many numbers': protobufEvent(Buffer.concat(entries)),
    'a million empty texts': protobufEvent(repeated(1_000_000, empty(4))),
    'messages of thirty members without a byte': protobufEvent(repeated(100_000, empty(5))),
    'a map of one message of thirty members': protobufEvent(repeated(1_000_000, empty(12))),
    'a million floats': protobufEvent(protobufField(6, repeated(1_000_000, float))),
    'many timestamps': protobufEvent(repeated(900_000, empty(7))),
    'a document of many nulls': protobufEvent(protobufField(8, protobufField(1, member))),
    'millions of numbers of a byte': protobufEvent(protobufField(10, Buffer.alloc(2_000_000))),
    'bytes as long as a record': protobufEvent(protobufField(11, Buffer.alloc(18_000_000))),
    'messages as deep as a reader goes': protobufEvent(nested(400)),
    'an Any in each Any, beside many texts': protobufEvent(
      anyIn(16, () => repeated(130_000, empty(4))),
    ),
    'a path of millions of words': protobufEvent(
      protobufField(14, protobufField(1, '_a'.repeat(4_000_000))),
    ),
  };
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

/** Events nested in an Any, `levels` deep. */
function anyIn(levels: number, fields: () => Buffer): Buffer {
  if (levels === 0) return fields();
  const event = Buffer.concat([fields(), anyIn(levels - 1, fields)]);
  return protobufField(13, Buffer.concat([protobufField(1, '/Event'), protobufField(2, event)]));
}

function nested(levels: number): Buffer {
  let message: Buffer = Buffer.alloc(0);
  for (let level = 0; level < levels; level++) message = protobufField(9, message);
  return message;
}
