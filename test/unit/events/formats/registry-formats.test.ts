import assert from 'node:assert/strict';
import { test } from 'node:test';
import avsc from 'avsc';
import type { EventFormat } from '../../../../src/events/format.ts';
import { avroFormat } from '../../../../src/events/formats/avro/avro-format.ts';
import { jsonSchemaFormat } from '../../../../src/events/formats/json-schema/json-schema-format.ts';
import { protobufFormat } from '../../../../src/events/formats/protobuf/protobuf-format.ts';
import { ConfluentRegistry, writeFrame } from '../../../../src/events/registry/index.ts';
import { growthOf, LINEAR } from '../../../support/cpu-growth.ts';
import { documentOf, jsonOrPoison } from '../../../support/records/read-event.ts';
import { fakeRegistry, registrySettings } from '../../../support/stack/registry.ts';

const { signal } = new AbortController();
const EVENT = {
  type: 'record',
  name: 'Event',
  fields: [{ name: 'content', type: 'string' }],
} as const;
const avro = { schema: JSON.stringify(EVENT) };
const proto = {
  schemaType: 'PROTOBUF',
  schema: 'syntax = "proto3"; message M { string content = 1; }',
};
const json = (schema: object, more = {}) => ({
  schemaType: 'JSON',
  schema: JSON.stringify(schema),
  ...more,
});

function record(value: Buffer) {
  return { partition: 0, offset: 0, timestampMs: 0, key: null, value, headers: [] };
}

/** Decodes a value with a freshly prepared format. */
async function read(format: EventFormat, id: number, payload: string | Buffer): Promise<unknown> {
  const one = record(writeFrame(id, Buffer.from(payload)));
  await format.prepare?.([one], signal);
  const read = format.read(one);
  return documentOf(read) ?? jsonOrPoison(read);
}

test('each schema of a batch of records is loaded once; records without frame or value load none', async () => {
  await using server = await fakeRegistry({ '/schemas/ids/1': avro, '/schemas/ids/2': avro });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const format = avroFormat(registry);
  const payload = avsc.Type.forSchema(EVENT as unknown as avsc.Schema).toBuffer({
    content: 'hello',
  });
  const values = [1, 2, 1, 2, 1].map((id) => record(writeFrame(id, payload)));
  const others = [record(Buffer.from('{}')), { ...record(payload), value: null }];
  assert.equal(format.prepare?.(others, signal), undefined);
  await format.prepare?.([...others, ...values], signal);
  assert.deepEqual(server.requests.sort(), ['GET /schemas/ids/1', 'GET /schemas/ids/2']);
  for (const one of values) assert.deepEqual(documentOf(format.read(one)), { content: 'hello' });
  assert.equal(format.prepare?.(values, signal), undefined);
  await registry.close();
});

test('a schema with defaults that the library would refuse is read, and so is one that it refers to', async () => {
  const millis = { type: 'long', logicalType: 'timestamp-millis' };
  const fields = (type: unknown) => [
    { name: 'at', type: millis, default: 0 },
    ...(type ? [{ name: 'by', type, default: 'x' }] : []),
  ];
  const author = { type: 'record', name: 'Author', fields: fields(undefined) };
  await using server = await fakeRegistry({
    '/schemas/ids/1': {
      schema: JSON.stringify({ type: 'record', name: 'Post', fields: fields(['null', 'Author']) }),
      references: [{ name: 'Author', subject: 'author', version: 1 }],
    },
    '/subjects/author/versions/1': {
      subject: 'author',
      version: 1,
      id: 9,
      schema: JSON.stringify(author),
    },
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const at = '1970-01-01T00:00:00.000Z';
  assert.deepEqual(await read(avroFormat(registry), 1, Buffer.of(0, 2, 0)), { at, by: { at } });
  await registry.close();
});

test("a schema of another type than the source's format is refused with both names", async () => {
  await using server = await fakeRegistry({
    '/schemas/ids/1': avro,
    '/schemas/ids/2': proto,
    '/schemas/ids/3': json({}),
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const wrong = (id: number, is: string, configured: string) =>
    `undecodable: schema ${id} cannot be used: it is ${is}, but the source is configured as ${configured}`;
  assert.equal(await read(avroFormat(registry), 2, ''), wrong(2, 'PROTOBUF', 'AVRO'));
  assert.equal(await read(protobufFormat(registry), 1, ''), wrong(1, 'AVRO', 'PROTOBUF'));
  assert.equal(
    await read(jsonSchemaFormat(registry, { validate: false }), 1, '{}'),
    wrong(1, 'AVRO', 'JSON'),
  );
  await registry.close();
});

test('a broken schema, and one with a missing reference, makes dead letters with the reason', async () => {
  await using server = await fakeRegistry({
    '/schemas/ids/1': {
      schema: '{"type":"record","name":"R","fields":[{"name":"a","type":"Missing"}]}',
    },
    '/schemas/ids/2': { ...avro, references: [{ name: 'A', subject: 'gone-value', version: 3 }] },
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  assert.equal(
    await read(avroFormat(registry), 1, ''),
    'undecodable: schema 1 cannot be used: undefined type name: Missing',
  );
  assert.equal(
    await read(avroFormat(registry), 2, ''),
    'undecodable: schema 2 cannot be used: it refers to version 3 of subject gone-value, which the registry does not have',
  );
  await registry.close();
});

test('a Protobuf record without message indexes is refused', async () => {
  await using server = await fakeRegistry({ '/schemas/ids/1': proto });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const format = protobufFormat(registry);
  assert.match(
    String(await read(format, 1, '')),
    /^undecodable: no message indexes follow the schema id/,
  );
  assert.match(
    String(await read(format, 1, Buffer.of(2, 2))),
    /^undecodable: the schema has no message at the indexes/,
  );
  assert.deepEqual(await read(format, 1, Buffer.of(0, 10, 1, 0x61)), { content: 'a' });
  await registry.close();
});

test('JSON is validated only if configured, and an error names the place in the schema alone', async () => {
  const POST = {
    type: 'object',
    properties: { content: { type: 'string' } },
    additionalProperties: false,
  };
  await using server = await fakeRegistry({ '/schemas/ids/1': json(POST) });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const [loose, strict] = [false, true].map((validate) =>
    jsonSchemaFormat(registry, { validate }),
  ) as [EventFormat, EventFormat];
  assert.deepEqual(await read(loose, 1, '{"content":1}'), { content: 1 });
  assert.deepEqual(await read(strict, 1, '{"content":"a"}'), { content: 'a' });
  assert.equal(
    await read(strict, 1, '{"content":1}'),
    'undecodable: the value does not fit schema 1 (#/properties/content/type)',
  );
  assert.equal(
    await read(strict, 1, '{"secret":1}'),
    'undecodable: the value does not fit schema 1 (#/additionalProperties)',
  );
  assert.equal(await read(loose, 1, '{'), 'not_json: the value is not JSON');
  assert.equal(
    await read(strict, 1, '[]'),
    'not_an_object: the value is JSON, but an array and not an object',
  );
  await registry.close();
});

test('a hostile value of a harmless schema makes a dead letter that names the deadline, and honest values fit', {
  timeout: 60_000,
}, async () => {
  const of = (properties: object, more = {}) => json({ type: 'object', properties, ...more });
  const item = { type: 'object', properties: { next: { $ref: '#/$defs/item' } } };
  const schemas = [
    of({ s: { pattern: '^(a+)+$' } }),
    of({ s: { pattern: '^([a-zA-Z0-9_.+-]+)+@[a-z]+$' } }),
    json({ type: 'object', patternProperties: { '^(a+)+$': { type: 'null' } } }),
    of(
      { tree: { anyOf: ['a', 'b'].map((name) => ({ ...item, required: [name] })) } },
      { $defs: { item: { anyOf: [item, item, { type: 'null' }] } } },
    ),
    of({ list: { uniqueItems: true } }),
    of(
      { list: { uniqueItems: true } },
      { $schema: 'https://json-schema.org/draft/2020-12/schema' },
    ),
  ];
  await using server = await fakeRegistry(
    Object.fromEntries(schemas.map((schema, n) => [`/schemas/ids/${n + 1}`, schema])),
  );
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const format = jsonSchemaFormat(registry, { validate: true });
  const letters = `${'a'.repeat(40)}!`;
  const late = (id: number) =>
    `undecodable: checking the value against schema ${id} took longer than the deadline of 250 ms`;
  const deep = (depth: number): object => (depth === 0 ? { next: 1 } : { next: deep(depth - 1) });
  for (const [id, hostile, honest] of [
    [1, { s: letters }, { s: 'aaa' }],
    [2, { s: letters }, { s: 'a.b@example' }],
    [3, { [letters]: 1 }, { aaa: null }],
    [4, { tree: { a: 1, ...deep(40) } }, { tree: { b: 1, next: { next: null } } }],
  ] as const) {
    const startMs = performance.now();
    assert.equal(await read(format, id, JSON.stringify(hostile)), late(id));
    assert.ok(performance.now() - startMs < 10_000);
    assert.deepEqual(await read(format, id, JSON.stringify(honest)), honest);
  }
  const lists = [
    Array.from({ length: 20_000 }, (_, n) => [n]),
    Array.from({ length: 10_000 }, (_, n) => ({ id: n, a: 'x' })),
  ];
  for (const id of [5, 6]) {
    for (const list of lists) {
      assert.deepEqual(await read(format, id, JSON.stringify({ list })), { list });
      const twice = JSON.stringify({ list: [...list, list[7]] });
      assert.equal(
        await read(format, id, twice),
        `undecodable: the value does not fit schema ${id} (#/properties/list/uniqueItems)`,
      );
    }
    const growth = await growthOf(500, (size) => {
      const value = JSON.stringify({ list: Array.from({ length: size }, (_, n) => [n]) });
      return () => read(format, id, value);
    });
    assert.ok(growth < LINEAR, `32 times the items take ${growth.toFixed(1)} times as long`);
  }
  await registry.close();
});

test('drafts of JSON Schema from 06 to 2020-12 are supported, a reference is resolved by its name, and other drafts are refused', async () => {
  const draft = (uri: string) => ({
    $schema: uri,
    type: 'object',
    properties: { n: { type: 'integer', minimum: 5 } },
  });
  const author = {
    subject: 'author',
    version: 1,
    id: 9,
    ...json({ type: 'object', required: ['id'] }),
  };
  await using server = await fakeRegistry({
    '/schemas/ids/1': json(draft('http://json-schema.org/draft-06/schema#')),
    '/schemas/ids/2': json(draft('http://json-schema.org/draft-07/schema#')),
    '/schemas/ids/3': json(draft('https://json-schema.org/draft/2019-09/schema')),
    '/schemas/ids/4': json(draft('https://json-schema.org/draft/2020-12/schema')),
    '/schemas/ids/5': json(draft('http://json-schema.org/draft-04/schema#')),
    '/schemas/ids/6': json(
      { type: 'object', properties: { author: { $ref: 'author.json' } } },
      { references: [{ name: 'author.json', subject: 'author', version: 1 }] },
    ),
    '/subjects/author/versions/1': author,
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const strict = jsonSchemaFormat(registry, { validate: true });
  for (const id of [1, 2, 3, 4]) {
    assert.deepEqual(await read(strict, id, '{"n":5}'), { n: 5 });
    assert.match(String(await read(strict, id, '{"n":4}')), /#\/properties\/n\/minimum/);
  }
  assert.match(
    String(await read(strict, 5, '{"n":4}')),
    /its \$schema is not draft-06, draft-07, 2019-09 or 2020-12/,
  );
  assert.deepEqual(await read(jsonSchemaFormat(registry, { validate: false }), 5, '{"n":4}'), {
    n: 4,
  });
  assert.deepEqual(await read(strict, 6, '{"author":{"id":1}}'), { author: { id: 1 } });
  assert.match(String(await read(strict, 6, '{"author":{}}')), /does not fit schema 6/);
  await registry.close();
});

test('values that fit are let through: decimals that are multiples, and patterns that escape more than they must', async () => {
  const cents = (more = {}) =>
    json({ type: 'object', properties: { n: { multipleOf: 0.01 } }, ...more });
  const pattern = (text: string) => json({ type: 'object', properties: { s: { pattern: text } } });
  await using server = await fakeRegistry({
    '/schemas/ids/1': cents(),
    '/schemas/ids/2': cents({ $schema: 'https://json-schema.org/draft/2020-12/schema' }),
    '/schemas/ids/3': pattern('^[\\w\\-\\_]+\\@[a-z]$'),
    '/schemas/ids/4': json({ type: 'object', patternProperties: { '^\\_': { type: 'string' } } }),
    '/schemas/ids/5': pattern('^\\p{L}.$'),
    '/schemas/ids/6': pattern('('),
    '/schemas/ids/8': pattern("^[\\p{L} \\'\\-]+$"),
    '/schemas/ids/9': pattern('^[\\p{L}\\w-.]+$'),
    '/schemas/ids/10': { schemaType: 'JSON', schema: '{"properties":{"n":{"multipleOf":1e400}}}' },
    '/schemas/ids/7': json({
      $schema: 'http://json-schema.org/draft-06/schema#',
      properties: { n: { multipleOf: 0 } },
    }),
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const strict = jsonSchemaFormat(registry, { validate: true });
  for (const id of [1, 2]) {
    for (const n of [19.99, 0.07, -1.1, 1e22, 4.35, 0])
      assert.deepEqual(await read(strict, id, JSON.stringify({ n })), { n });
    for (const n of [19.999, 1e-3, 0.010000000000000002])
      assert.match(
        String(await read(strict, id, JSON.stringify({ n }))),
        /does not fit schema \d \(#\/properties\/n\/multipleOf\)$/,
      );
  }
  assert.deepEqual(await read(strict, 3, '{"s":"a-b_c@d"}'), { s: 'a-b_c@d' });
  assert.match(String(await read(strict, 3, '{"s":"a.b@d"}')), /#\/properties\/s\/pattern/);
  assert.deepEqual(await read(strict, 4, '{"_a":"x"}'), { _a: 'x' });
  assert.match(String(await read(strict, 4, '{"_a":1}')), /patternProperties/);
  // With Unicode where it can be.
  assert.deepEqual(await read(strict, 5, '{"s":"ß😀"}'), { s: 'ß😀' });
  assert.match(String(await read(strict, 6, '{}')), /^undecodable: schema 6 cannot be used: /);
  for (const id of [7, 10])
    assert.match(
      String(await read(strict, id, '{}')),
      /^undecodable: schema \d+ cannot be used: .*multipleOf/,
    );
  assert.deepEqual(await read(strict, 8, '{"s":"Zoë D\'Or-é"}'), { s: "Zoë D'Or-é" });
  assert.match(String(await read(strict, 8, '{"s":"1"}')), /does not fit/);
  assert.match(String(await read(strict, 9, '{}')), /^undecodable: schema 9 cannot be used: /);
  await registry.close();
});

test('a schema that cannot be parsed makes dead letters without retries, and one of thousands of types is read at once', async () => {
  const chain = Array.from({ length: 5_000 }, (_, n) => `message M${n} { M${n + 1} m = 1; }`).join(
    ' ',
  );
  let arrays: unknown = 'int';
  for (let level = 0; level < 5_000; level++) arrays = { type: 'array', items: arrays };
  await using server = await fakeRegistry({
    '/schemas/ids/1': { schemaType: 'PROTOBUF', schema: 'CgAB' },
    '/schemas/ids/2': {
      schemaType: 'PROTOBUF',
      schema:
        'syntax = "proto3"; package google.protobuf; import "google/protobuf/timestamp.proto"; message Timestamp { }',
    },
    '/schemas/ids/3': {
      schemaType: 'PROTOBUF',
      schema: `syntax = "proto3"; ${chain} message M5000 { }`,
    },
    '/schemas/ids/4': { schema: JSON.stringify(arrays) },
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const format = protobufFormat(registry);
  assert.match(String(await read(format, 1, '')), /^undecodable: schema 1 cannot be used: /);
  assert.match(
    String(await read(format, 2, '')),
    /^undecodable: schema 2 cannot be used: duplicate name/,
  );
  assert.deepEqual(await read(format, 3, Buffer.of(0, 10, 2, 10, 0)), { m: { m: {} } });
  assert.match(
    String(await read(avroFormat(registry), 4, '')),
    /^undecodable: schema 4 cannot be used: /,
  );
  await registry.close();
});

test("a schema with the validator's own keyword $async is unusable", async () => {
  await using server = await fakeRegistry({
    '/schemas/ids/1': json({ $async: true, type: 'object', required: ['content'] }),
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  assert.equal(
    await read(jsonSchemaFormat(registry, { validate: true }), 1, '{}'),
    'undecodable: schema 1 cannot be used: it has the keyword $async, which JSON Schema does not have',
  );
  await registry.close();
});

test('reading a record whose schema has been dropped from the cache throws, so that it is prepared again', async () => {
  await using server = await fakeRegistry({ '/schemas/ids/1': avro });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  assert.throws(
    () => avroFormat(registry).read(record(writeFrame(1, Buffer.of(0)))),
    /schema 1 is not loaded/,
  );
  await registry.close();
});

test('a schema whose records can never be read is recognized without a record', async () => {
  const enumeration = { type: 'enum', name: 'E', symbols: ['A'] };
  const cases: readonly (readonly [object, EventVerdict])[] = [
    [avro, []],
    [{ schema: '{"type":"map","values":"int"}' }, []],
    [{ schema: JSON.stringify([EVENT, { ...EVENT, name: 'Other' }]) }, []],
    [
      { schema: JSON.stringify(['null', EVENT, enumeration]) },
      [/^values of the branch null are/, /^values of the branch E are/],
    ],
    [{ schema: '"string"' }, /^its values \(string\) are not objects/],
    [
      { schema: '{"type":"long","logicalType":"timestamp-millis"}' },
      /^its values \(long\) are not objects/,
    ],
    [{ schema: JSON.stringify(['null', enumeration]) }, /^its values \(null, E\) are not objects/],
    [{ schema: '{"type":"no such type"}' }, /^schema \d+ cannot be used: /],
    [proto, []],
    [
      protobuf('message Pair { map<string, string> m = 1; message Left {} message Right {} }'),
      [/^records of Left or Right in Pair/],
    ],
    [
      protobuf(
        'message A { message B { map<string, string> m = 1; message X {} message Y {} message Z {} } }',
      ),
      [/^records of X to Z in B/],
    ],
    [
      protobuf(
        'message A { map<string, string> m = 1; message X {} } message B { message Y {} message Z {} }',
      ),
      [],
    ],
    [protobuf('enum E { A = 0; }'), /^it has no messages$/],
    [
      protobuf('import "google/protobuf/any.proto"; package google.protobuf; message Duration {}'),
      /^its messages \(google\.protobuf\.Duration\)/,
    ],
    [
      protobuf('package google.protobuf; message Duration {} message Struct {}'),
      [/^messages google\.protobuf\.Duration are/],
    ],
    [
      protobuf('import "missing.proto"; message M {}'),
      /^schema \d+ cannot be used: it imports missing/,
    ],
    [json({}), []],
    [json({ type: ['object', 'null'] }), []],
    [json({ $ref: '#/definitions/post', type: 'string', definitions: { post: {} } }), []],
    [json({ oneOf: [{ type: 'string' }, { properties: {} }] }), []],
    ...[{ type: 'array' }, { type: ['string', 'null'] }, { const: 1 }, { enum: ['a', []] }].map(
      (schema) => never(schema),
    ),
    never({ allOf: [{ type: 'object' }, { anyOf: [{ type: 'string' }, { type: 'number' }] }] }),
    [{ schemaType: 'JSON', schema: 'false' }, /^no value that fits it is an object/],
    [{ schemaType: 'OTHER', schema: '' }, /^schema \d+ cannot be used: it is OTHER/],
  ];
  await using server = await fakeRegistry(
    Object.fromEntries(cases.map(([schema], id) => [`/schemas/ids/${id}`, schema])),
  );
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const validating = jsonSchemaFormat(registry, { validate: true });
  const formats = {
    AVRO: avroFormat(registry),
    PROTOBUF: protobufFormat(registry),
    JSON: jsonSchemaFormat(registry, { validate: false }),
  };
  for (const [id, [schema, expected]] of cases.entries()) {
    const { schemaType = 'AVRO' } = schema as { readonly schemaType?: keyof typeof formats };
    for (const format of schemaType === 'JSON'
      ? [formats.JSON, validating]
      : [formats[schemaType] ?? formats.AVRO]) {
      const verdict = await format.judge?.(id, signal);
      const about = `${JSON.stringify(schema)}: ${JSON.stringify(verdict)}`;
      assert.ok(verdict);
      if (expected instanceof RegExp)
        assert.match(verdict.ok ? '' : verdict.error, expected, about);
      else {
        assert.ok(verdict.ok, about);
        assert.equal(verdict.value.length, expected.length, about);
        for (const [index, one] of expected.entries())
          assert.match(verdict.value[index] ?? '', one, about);
      }
    }
  }
  await registry.close();
});

/** The refusal, or the exceptions. */
type EventVerdict = RegExp | readonly RegExp[];
const protobuf = (body: string) => ({
  schemaType: 'PROTOBUF',
  schema: `syntax = "proto3"; ${body}`,
});
const never = (schema: object): readonly [object, EventVerdict] => [
  json(schema),
  /^no value that fits it is an object/,
];
