/** Real-world .proto files. Parts of a file that do not affect decoding must not make the file unusable. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { protobufReader } from '../../../support/records/protobuf.ts';
import { jsonOf } from '../../../support/records/read-event.ts';

/** Reads the first message as JSON text. */
function read(
  text: string,
  bytes: readonly number[],
  imports: Readonly<Record<string, string>> = {},
): string {
  const one = protobufReader(text, [0], imports)(Buffer.from(bytes));
  return jsonOf(one) ?? String(one.poison?.message);
}

const META = `syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
option go_package = "../confluent";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
`;
const DECIMAL =
  'syntax = "proto3"; package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }';

const POST = (decimal: string) => `syntax = "proto3";
package shop;
import "confluent/meta.proto";
import "${decimal}";
import "google/protobuf/timestamp.proto";
option (confluent.file_meta) = { doc: "posts", params: [{ key: "owner", value: "shop" }] };

message Post {
  option (.confluent.message_meta) = {
    doc: "a \\"post\\"; with } in it",
    tags: ["PII", 'B'],
    rules: [{name: "notFuture", expr: "this.at <= now // {"}, {name: "positive", expr: 'this.amount > 0'}]
  };
  option (confluent.message_meta).doc = "again";
  confluent.type.Decimal amount = 1 [(confluent.field_meta) = {
    params: [
      { key: "precision", value: "4" },
      { key: "scale", value: "2" }
    ]
  }];
  string content = 2 [(confluent.field_meta) = { tags: ["PII"] }, deprecated = true, json_name = "body"];
  repeated confluent.type.Decimal amounts = 3 [(confluent.field_meta) = { rules: [{name: "r", expr: "decimals.gt(this[0], decimal('1.00'))"}] }];
  map<string, .confluent.type.Decimal> by_name = 4 [(confluent.field_meta) = { tags: ["MAP"] }];
  google.protobuf.Timestamp at = 5;
}
`;
const PAYLOAD = [10, 8, 10, 2, 0x03, 0xe8, 16, 4, 24, 2, 18, 1, 0x61];
const EXPECTED = '{"amount":10.00,"content":"a","amounts":[],"by_name":{}}';

test("Confluent's annotations are ignored with and without its registered files, for both paths of its decimal", () => {
  for (const path of ['confluent/type/decimal.proto', 'confluent/types/decimal.proto']) {
    assert.equal(read(POST(path), PAYLOAD), EXPECTED);
    assert.equal(
      read(POST(path), PAYLOAD, { 'confluent/meta.proto': META, [path]: DECIMAL }),
      EXPECTED,
    );
  }
  const variant =
    'syntax = "proto3"; import "confluent/types/variant.proto"; message M { confluent.type.Variant v = 1; }';
  assert.equal(read(variant, [10, 3, 10, 1, 0x61]), '{"v":{"metadata":"YQ==","value":""}}');
});

test('options of every form are ignored on files, messages, fields, enums, enum values, oneofs, ranges and services', () => {
  const text = `syntax = "proto2"; package p;
    option java_package = "com.example"; option (file) = { a { b: 1; c: [{d: 2}, {d: 3}] }, e: "}" };
    message M {
      option (message).deep.name = { list: [{ a: 1 }] };
      optional int32 a = 1 [default = -5, (x) = {}, (y).z = {a: []}, deprecated = false];
      optional float b = 2 [default = -inf];
      repeated int32 c = 3 [packed = true];
      oneof either { option (of) = { a: [{}] }; string d = 4 [ctype = CORD]; int32 e = 5; }
      repeated group G = 6 { optional int32 f = 7; }
      optional Kind kind = 8 [default = SECOND];
      extensions 100 to 199, 1000 to max [declaration = { number: 100, full_name: ".p.x", type: "string" }];
      reserved 20 to 30, 40; reserved "old", 'older';
    }
    enum Kind {
      option allow_alias = true; option (kinds) = { a: [{}] };
      FIRST = 1 [(value) = { names: [{ a: "]" }] }, deprecated = true]; SECOND = 2; ALSO = 2;
      reserved -5 to -1, 7; reserved "GONE";
    }
    extend M { optional string more = 100 [(x) = { a: [{}] }]; }
    service S {
      option (service) = { a: [{}] };
      rpc Get (M) returns (stream M) { option (google.api.http) = { get: "/v1/{name=a/*}" additional_bindings { get: "//" } }; };
    };`;
  assert.equal(
    read(text, [8, 1, 0x33, 0x38, 7, 0x34, 64, 2, 0xa2, 6, 1, 0x61]),
    '{"a":1,"c":[],"g":[{"f":7}],"kind":"SECOND","[p.more]":"a"}',
  );
});

test('features of editions, which change how data is decoded, are kept', () => {
  const text = (field: string, file = 'option features.field_presence = IMPLICIT;') =>
    `edition = "2023"; ${file} option (x) = {a: [{}]}; message M { int32 a = 1; int32 b = 2 [${field}]; }`;
  assert.equal(
    read(text('(x) = 1, features.field_presence = EXPLICIT, (y) = {a: [{}]}'), []),
    '{"a":0}',
  );
  assert.equal(
    read(
      text('features.field_presence = EXPLICIT, deprecated = true, features.enum_type = CLOSED'),
      [],
    ),
    '{"a":0}',
  );
  assert.equal(
    read(text('features = { field_presence: EXPLICIT }, features.(pb.cpp).string_type = VIEW'), []),
    '{"a":0}',
  );
  assert.equal(read(text('(y) = {}', ''), []), '{}');
});
