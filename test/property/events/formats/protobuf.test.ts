import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { protobufReader } from '../../../support/records/protobuf.ts';
import { jsonOf } from '../../../support/records/read-event.ts';

const INTEGERS = {
  int32: fc.integer().map(BigInt),
  sint32: fc.integer().map(BigInt),
  sfixed32: fc.integer().map(BigInt),
  uint32: fc.nat(2 ** 32 - 1).map(BigInt),
  fixed32: fc.nat(2 ** 32 - 1).map(BigInt),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  sint64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  sfixed64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  uint64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  fixed64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
};
const NAMES = Object.keys(INTEGERS);
const TEXT = `syntax = "proto3"; message M {
  ${NAMES.map((type, index) => `${type} one_${type} = ${index + 1};`).join('\n')}
  ${NAMES.map((type, index) => `repeated ${type} many_${type} = ${index + 21};`).join('\n')}
  ${NAMES.map((type, index) => `map<${type}, ${type}> map_${type} = ${index + 41};`).join('\n')}
}`;

test('integers of every type that protobufjs writes are read with every digit: alone, repeated, and as keys and values of maps', () => {
  const type = protobuf.parse(TEXT, { keepCase: true }).root.lookupType('M');
  const read = protobufReader(TEXT);
  fc.assert(
    fc.property(fc.record(INTEGERS), (values) => {
      const written: Record<string, unknown> = {};
      const expected: string[] = [];
      for (const name of NAMES) {
        const value = values[name as keyof typeof values];
        const long = name.endsWith('64')
          ? longOf(value, name.includes('u') || name === 'fixed64')
          : Number(value);
        written[`one_${name}`] = long;
        written[`many_${name}`] = [long, long];
        written[`map_${name}`] = { [String(value)]: long };
        expected.push(
          `"one_${name}":${value}`,
          `"many_${name}":[${value},${value}]`,
          `"map_${name}":{"${value}":${value}}`,
        );
      }
      const json = jsonOf(read(type.encode(written).finish())) ?? '';
      for (const member of expected)
        assert.ok(json.includes(member), `${member} is not in ${json}`);
    }),
  );
});

function longOf(value: bigint, unsigned: boolean): unknown {
  const bits = BigInt.asUintN(64, value);
  const Long = protobuf.util.Long as unknown as {
    fromBits(low: number, high: number, unsigned: boolean): unknown;
  };
  return Long.fromBits(Number(bits & 0xffffffffn) | 0, Number(bits >> 32n) | 0, unsigned);
}

test('random bytes and damaged records become an event or a dead letter, never an exception', () => {
  const file = new URL('../../../fixtures/registry/generate.py', import.meta.url);
  const [, post = ''] =
    /"content\/post\.proto": """([^"]*(?:"[^"]+)*?)""",/s.exec(readFileSync(file, 'utf8')) ?? [];
  const read = protobufReader(post, [0], {
    'people/author.proto':
      'syntax = "proto3"; package people; message Author { int64 id = 1; string full_name = 2; }',
  });
  const fixtures = JSON.parse(
    readFileSync(new URL('../../../fixtures/registry/fixtures.json', import.meta.url), 'utf8'),
  ) as {
    readonly records: readonly { readonly name: string; readonly value: string }[];
  };
  const found = fixtures.records.find(
    ({ name }) => name === 'protobuf: every type, references and well-known types',
  );
  const message = Buffer.from(found?.value ?? '', 'base64').subarray(6);
  assert.equal(read(message).poison, undefined);
  const check = (bytes: Uint8Array) => {
    const one = read(bytes);
    if (one.poison === undefined) assert.ok(jsonOf(one));
    else assert.equal(one.poison.reason, 'undecodable');
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), check), { numRuns: 500 });
  fc.assert(
    fc.property(
      fc.nat(message.length - 1),
      fc.nat(255),
      fc.nat(message.length),
      (place, byte, end) => {
        const damaged = Buffer.from(message);
        damaged[place] = byte;
        check(damaged);
        check(damaged.subarray(0, end));
      },
    ),
    { numRuns: 500 },
  );
});
