import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAvro, recordOf } from '../../../support/records/avro.ts';
import { jsonOf, jsonOrPoison } from '../../../support/records/read-event.ts';

/** Reads a field of this type. Returns its JSON text. */
function read(type: unknown, ...bytes: number[]): string {
  const read = readAvro(recordOf(type), Buffer.from(bytes));
  return jsonOf(read)?.slice(5, -1) ?? jsonOrPoison(read);
}

const broken = (message: string) =>
  `undecodable: the value does not match its Avro schema: ${message}`;
const logical = (type: unknown, logicalType: string, more = {}) => ({
  ...(typeof type === 'object' ? type : { type }),
  logicalType,
  ...more,
});
const fixed = (size: number) => ({ type: 'fixed', name: 'F', size });
const zigzag = (value: bigint): number[] => {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
};

test('logical types without a fixture are read: nanoseconds, local times, UUIDs as bytes', () => {
  assert.equal(
    read(logical('long', 'timestamp-nanos'), ...zigzag(1_709_209_800_123_456_789n)),
    '"2024-02-29T12:30:00.123456789Z"',
  );
  assert.equal(
    read(logical('long', 'local-timestamp-nanos'), ...zigzag(-1n)),
    '"1969-12-31T23:59:59.999999999"',
  );
  assert.equal(
    read(logical('long', 'timestamp-millis'), ...zigzag(-8_640_000_000_000_000n)),
    '"-271821-04-20T00:00:00.000Z"',
  );
  assert.equal(
    read(logical('long', 'timestamp-micros'), ...zigzag(8_640_000_000_000_000_000n - 1n)),
    '"+275760-09-12T23:59:59.999999Z"',
  );
  assert.equal(read(logical('int', 'date'), ...zigzag(-719_529n)), '"-000001-12-31"');
  const uuid = [
    0x12, 0x3e, 0x45, 0x67, 0xe8, 0x9b, 0x12, 0xd3, 0xa4, 0x56, 0x42, 0x66, 0x14, 0x17, 0x40, 0,
  ];
  assert.equal(read(logical(fixed(16), 'uuid'), ...uuid), '"123e4567-e89b-12d3-a456-426614174000"');
});

test('no default value makes a schema unusable, even if it is invalid or for another branch of a union', () => {
  const field = (type: unknown, value: unknown, name = 'D') => ({
    type: 'record',
    name,
    fields: [{ name: 'd', type, default: value }],
  });
  const millis = logical('long', 'timestamp-millis');
  const price = logical('bytes', 'decimal', { precision: 4, scale: 2 });
  const cases: [unknown, unknown, number[], string][] = [
    [millis, 0, [0], '"1970-01-01T00:00:00.000Z"'],
    [logical('int', 'date'), 0, [0], '"1970-01-01"'],
    [price, '\u0000', [2, 7], '0.07'],
    [logical(fixed(2), 'decimal', { precision: 4, scale: 2 }), '\u0000\u0000', [0, 7], '0.07'],
    [logical('string', 'uuid'), '', [2, 0x61], '"a"'],
    [[millis, 'null'], 0, [2], 'null'],
    [['null', 'string'], 'x', [2, 2, 0x61], '"a"'],
    [['string', 'null'], null, [2], 'null'],
    [{ type: 'array', items: millis }, [0], [2, 0, 0], '["1970-01-01T00:00:00.000Z"]'],
    [{ type: 'map', values: field(price, '\u0000', 'N') }, { default: { d: '\u0000' } }, [0], '{}'],
    [
      { type: 'enum', name: 'E', symbols: ['default'], default: 'default' },
      'default',
      [0],
      '"default"',
    ],
    ['int', 'no integer', [2], '1'],
  ];
  for (const [type, value, bytes, expected] of cases)
    assert.equal(read(field(type, value), ...bytes), `{"d":${expected}}`);
});

test('NaN and infinities become strings, a float has its shortest form, and a negative zero stays negative', () => {
  const float = (value: number) => [...Buffer.from(Float32Array.of(value).buffer)];
  const double = (value: number) => [...Buffer.from(Float64Array.of(value).buffer)];
  assert.equal(read('double', ...double(Number.NaN)), '"NaN"');
  assert.equal(read('double', ...double(Number.POSITIVE_INFINITY)), '"Infinity"');
  assert.equal(read('float', ...float(Number.NEGATIVE_INFINITY)), '"-Infinity"');
  assert.equal(read('float', ...float(0.1)), '0.1');
  assert.equal(read('float', ...float(16_777_216)), '16777216');
  assert.equal(read('float', ...float(1e30)), '1e+30');
  assert.equal(read('double', ...double(-0)), '-0.0');
});

test('blocks that include their size are read', () => {
  assert.equal(read({ type: 'array', items: 'int' }, 3, 4, 2, 4, 2, 6, 0), '[1,2,3]');
});

test('bytes that do not match the schema are refused with the reason, without their content', () => {
  const list = { type: 'array', items: 'null' };
  assert.equal(read('string', 8, 0x61), broken('the data ends too early'));
  assert.equal(read('string', 1), broken('the data ends too early'));
  assert.equal(read('string', 4, 0xc3, 0x28), broken('a string is not UTF-8'));
  assert.equal(read('int', 2, 2), broken('bytes are left over after the value'));
  assert.equal(read('int', ...zigzag(2n ** 31n)), broken('an int has more than 32 bits'));
  assert.equal(read('long', ...Array(9).fill(0xff), 2), broken('an integer has more than 64 bits'));
  assert.equal(read('boolean', 2), broken('a boolean is neither 0 nor 1'));
  assert.equal(
    read({ type: 'enum', name: 'E', symbols: ['A'] }, 2),
    broken('the data refers to a symbol that is not in the schema'),
  );
  assert.equal(
    read(list, ...zigzag(1_000_000_000_000n)),
    'too_large: the value is Avro of 6 bytes whose JSON would exceed 66304 bytes',
  );
  assert.equal(
    read(list, ...zigzag(-1_000_000_000_000n), 0),
    'too_large: the value is Avro of 7 bytes whose JSON would exceed 66432 bytes',
  );
  assert.equal(
    read(logical('int', 'time-millis'), ...zigzag(86_400_000n)),
    broken('a time of day is out of range'),
  );
});

test('a recursive type is read up to a maximum depth', () => {
  const chain = {
    type: 'record',
    name: 'Chain',
    fields: [{ name: 'next', type: ['null', 'Chain'] }],
  };
  const depth = (levels: number) => readAvro(chain, Buffer.from([...Array(levels).fill(2), 0]));
  assert.equal(depth(400).poison, undefined);
  assert.equal(
    depth(100_000).poison?.message,
    'the value does not match its Avro schema: the data is nested more than 500 levels deep',
  );
});

test('records without data are limited, because a schema can expand 0 bytes to a billion records', () => {
  let schema: unknown = { type: 'record', name: 'R0', fields: [{ name: 'nothing', type: 'null' }] };
  for (let level = 1; level <= 30; level++) {
    const fields = [
      { name: 'one', type: schema },
      { name: 'other', type: `R${level - 1}` },
    ];
    schema = { type: 'record', name: `R${level}`, fields };
  }
  assert.equal(
    jsonOrPoison(readAvro(schema, Buffer.alloc(0))),
    'too_large: the value is Avro of 0 bytes whose JSON would exceed 65536 bytes',
  );
  const few = { type: 'record', name: 'E', fields: [{ name: 'nothing', type: 'null' }] };
  assert.equal(read({ type: 'array', items: few }, 4, 0), '[{"nothing":null},{"nothing":null}]');
});

test('the number of items is limited by the size of the JSON, not by the bytes of the value', () => {
  const row = {
    type: 'record',
    name: 'Row',
    fields: Array.from({ length: 9 }, (_, at) => ({ name: `field_${at}`, type: 'int' })),
  };
  const rows = (count: number) =>
    readAvro(
      recordOf({ type: 'array', items: row }),
      Buffer.concat([Buffer.from(zigzag(BigInt(count))), Buffer.alloc(9 * count), Buffer.of(0)]),
    );
  assert.equal(rows(100_000).poison, undefined);
  assert.equal(rows(2 ** 20).poison?.reason, 'too_large');
});
