import assert from 'node:assert/strict';
import { test } from 'node:test';
import protobuf from 'protobufjs';
import { UnusableSchema } from '../../../../src/events/registry/index.ts';
import { protobufReader } from '../../../support/records/protobuf.ts';
import { documentOf, jsonOrPoison } from '../../../support/records/read-event.ts';

/** Reads a message as JSON text. */
function read(text: string, ...bytes: (number | string)[]): string {
  const value = bytes.flatMap((part) =>
    typeof part === 'string' ? [...Buffer.from(part)] : [part],
  );
  return jsonOrPoison(protobufReader(text)(Buffer.from(value)));
}

const proto3 = (body: string, head = '') => `syntax = "proto3"; ${head} message M { ${body} }`;
const broken = (message: string) =>
  `undecodable: the value does not match its Protobuf schema: ${message}`;

test('the parts of a repeated message field are merged, and the last value of a scalar field is used', () => {
  const text = proto3('M child = 1; int64 a = 2; repeated int64 list = 3; int64 b = 4;');
  assert.equal(
    read(text, 10, 2, 16, 1, 10, 4, 32, 7, 24, 5, 16, 1, 16, 2),
    '{"child":{"a":1,"list":[5],"b":7},"a":2,"list":[],"b":0}',
  );
});

test('only the last member of a oneof is kept', () => {
  const text = proto3('oneof either { string text = 1; M message = 2; int64 number = 3; }');
  assert.equal(read(text, 10, 1, 'a', 24, 5), '{"number":5}');
  assert.equal(read(text, 24, 5, 18, 2, 24, 6), '{"message":{"number":6}}');
  assert.equal(read(text, 18, 2, 24, 6, 10, 1, 'a'), '{"text":"a"}');
});

test('repeated numbers are read packed and unpacked, whatever the schema declares', () => {
  const text = proto3('repeated int32 packed = 1; repeated int32 plain = 2 [packed = false];');
  assert.equal(read(text, 8, 1, 10, 2, 2, 3, 16, 4, 18, 1, 5), '{"packed":[1,2,3],"plain":[4,5]}');
});

test('a field that is not in the schema or has another wire type is skipped', () => {
  const text = proto3('int32 a = 1;');
  assert.equal(
    read(
      text,
      0x10,
      1,
      0x19,
      ...Array(8).fill(0),
      0x22,
      1,
      0,
      0x2b,
      0x08,
      1,
      0x2c,
      0x35,
      0,
      0,
      0,
      0,
      8,
      5,
    ),
    '{"a":5}',
  );
  assert.equal(read(text, 10, 1, 7, 8, 5), '{"a":5}');
  assert.equal(read(text, 13, 0, 0, 0, 0), '{"a":0}');
});

test('fields without presence have a default, and fields with presence appear only if they were sent', () => {
  const body =
    'string a = 1; optional string b = 2; Kind c = 3; bytes d = 4; bool e = 5; double f = 6; Empty g = 7; map<string, int32> h = 8;';
  const head = 'enum Kind { FIRST = 0; SECOND = 1; }';
  assert.equal(
    read(`${proto3(body, head)} message Empty {}`),
    '{"a":"","c":"FIRST","d":"","e":false,"f":0,"h":{}}',
  );
  assert.equal(
    read(`${proto3(body, head)} message Empty {}`, 18, 0, 58, 0).includes('"b":""'),
    true,
  );
});

test('a missing required field is named', () => {
  assert.equal(
    read('syntax = "proto2"; message M { required int32 a = 1; }'),
    broken("missing required 'a'"),
  );
});

test('an unknown number is kept for an open enum and dropped for a closed enum', () => {
  const body = 'enum K { A = 0; B = 1; } message M { optional K one = 1; repeated K many = 2; }';
  const bytes = [8, 9, 16, 1, 16, 9];
  assert.equal(read(`syntax = "proto3"; ${body}`, ...bytes), '{"one":9,"many":["B",9]}');
  assert.equal(read(`syntax = "proto2"; ${body}`, ...bytes), '{"many":["B"]}');
});

test('an Any becomes its type URL and its bytes, even if the schema contains its type', () => {
  const head = 'import "google/protobuf/any.proto";';
  const text = `syntax = "proto3"; ${head} message M { google.protobuf.Any any = 1; int32 a = 2; }`;
  const url = 'type.googleapis.com/M';
  const inner = [10, url.length, ...Buffer.from(url), 18, 2, 16, 7];
  assert.equal(
    read(text, 10, inner.length, ...inner),
    `{"any":{"@type":"${url}","value":"EAc="},"a":0}`,
  );
  assert.equal(read(text, 10, 0), '{"any":{"@type":"","value":""},"a":0}');
});

test("Confluent's decimal becomes a number with all its digits", () => {
  const text = proto3(
    'confluent.type.Decimal price = 1;',
    'import "confluent/type/decimal.proto";',
  );
  assert.equal(read(text, 10, 8, 10, 2, 0x03, 0xe8, 16, 4, 24, 2), '{"price":10.00}');
});

test('an unusable schema is refused with the reason', () => {
  const objection = (text: string, expected: RegExp) =>
    assert.throws(
      () => protobufReader(text),
      (error) => error instanceof UnusableSchema && expected.test(error.message),
    );
  objection(
    proto3('', 'import "other.proto";'),
    /^it imports other\.proto, to which it has no reference in the registry$/,
  );
  objection(proto3('Missing a = 1;'), /no such.*Missing/);
  objection('syntax = "proto3"; message M {', /^illegal end of input/);
  objection('edition = "2099"; message M {}', /edition/);
});

test('a message is found by its indexes unless they are ambiguous', () => {
  const text = `syntax = "proto3"; message A { map<string, string> m = 1; message X { int32 a = 1; } message Y { int32 b = 1; } } message B { int32 c = 1; }`;
  assert.deepEqual(documentOf(protobufReader(text, [1])(Buffer.alloc(0))), { c: 0 });
  assert.deepEqual(documentOf(protobufReader(text, [0, 0])(Buffer.alloc(0))), { a: 0 });
  assert.deepEqual(documentOf(protobufReader(text, [0, 2])(Buffer.alloc(0))), { b: 0 });
  assert.throws(
    () => protobufReader(text, [0, 1]),
    /may mean X or Y, because A has maps or groups/,
  );
  for (const indexes of [[2], [0, 3], [1, 0], [0, 0, 0]]) {
    assert.throws(
      () => protobufReader(text, indexes),
      /the schema has no message at the indexes of the record/,
    );
  }
});

test('bytes that are not a message are refused with the reason, without their content', () => {
  const text = proto3('int32 a = 1; string b = 2; M c = 3; map<string, M> d = 4;');
  assert.equal(read(text, 18, 5, 'a'), broken('the data ends too early'));
  assert.equal(read(text, 18, 2, 0xc3, 0x28), broken('a string is not UTF-8'));
  assert.equal(read(text, 0), broken('illegal tag: field number 0'));
  assert.equal(read(text, 15), broken('invalid wire type 7 at offset 1'));
  assert.equal(read(text, 12), broken('invalid wire type 4 at offset 1'));
  assert.equal(read(text, 0x2b, 0x34), broken('invalid end group tag'));
  assert.equal(read(text, 8, ...Array(10).fill(0xff), 1), broken('invalid varint encoding'));
  let deep: Uint8Array = new Uint8Array();
  for (let level = 0; level < 600; level++)
    deep = protobuf.Writer.create().uint32(26).bytes(deep).finish();
  assert.equal(read(text, ...deep), broken('max depth exceeded'));
  assert.equal(read(text, ...Array(600).fill(0x2b)), broken('max depth exceeded'));
});

test('the number of fields and packed numbers is limited by the memory that their objects need', () => {
  const text = `${proto3('repeated Item items = 1; repeated int32 numbers = 2;')} message Item { int32 a = 1; }`;
  const repeated = (times: number, ...field: number[]) =>
    protobufReader(text)(Buffer.alloc(times * field.length, Buffer.from(field))).poison?.message;
  const packed = (count: number) =>
    protobufReader(text)(
      Buffer.from(protobuf.Writer.create().uint32(18).bytes(Buffer.alloc(count, 1)).finish()),
    ).poison?.message;
  const tooMany =
    'the value does not match its Protobuf schema: the message has too many fields and numbers';
  assert.deepEqual(
    [repeated(120_000, 10, 2, 8, 1), repeated(127_000, 10, 2, 8, 1)],
    [undefined, tooMany],
  );
  assert.deepEqual([packed(800_000), packed(700_000)], [tooMany, undefined]);
});

test('nested groups and nested message parts are read in one pass, up to a maximum depth', () => {
  const text = proto3('M child = 1; string text = 2;');
  const groups = (depth: number) =>
    Buffer.concat([
      Buffer.alloc(depth, 0x0b),
      Buffer.alloc(40_000, 0x18),
      Buffer.alloc(depth, 0x0c),
    ]);
  const parts = (depth: number) => {
    let message = Buffer.concat([Buffer.of(0x12, 0xc0, 0xb8, 2), Buffer.alloc(40_000, 0x61)]);
    for (let level = 0; level < depth; level++) {
      const length = [
        (message.length % 128) | 128,
        (Math.floor(message.length / 128) % 128) | 128,
        message.length >> 14,
      ];
      message = Buffer.concat([Buffer.of(10, 0, 10, ...length), message]);
    }
    return message;
  };
  for (const made of [groups, parts]) {
    for (const depth of [10, 450])
      assert.equal(protobufReader(text)(made(depth)).poison, undefined);
    assert.equal(
      protobufReader(text)(made(600)).poison?.message,
      'the value does not match its Protobuf schema: max depth exceeded',
    );
  }
});
