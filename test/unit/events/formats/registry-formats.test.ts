import assert from 'node:assert/strict';
import { test } from 'node:test';
import avsc from 'avsc';
import type { EventFormat } from '../../../../src/events/format.ts';
import { avroFormat } from '../../../../src/events/formats/avro-format.ts';
import { protobufFormat } from '../../../../src/events/formats/protobuf-format.ts';
import { jsonSchemaFormat } from '../../../../src/events/formats/registry-format.ts';
import { ConfluentRegistry, writeFrame } from '../../../../src/events/registry/index.ts';
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

test('each schema of a set of records is loaded once; records without a frame or a value load none', async () => {
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

test("a schema whose type differs from the source's format is refused with both names", async () => {
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
  assert.equal(await read(jsonSchemaFormat(registry), 1, '{}'), wrong(1, 'AVRO', 'JSON'));
  await registry.close();
});

test('an invalid schema and a missing reference lead to dead letters with the reason', async () => {
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

test('an unparsable schema leads to dead letters without retries, and a schema with thousands of types is read', async () => {
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
