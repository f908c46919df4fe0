/** The client and the formats against a real registry (Apicurio), which is killed and comes back. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import avsc from 'avsc';
import { type LocalRegistry, startRegistry } from '../../../dev/registry/start.ts';
import { avroFormat } from '../../../src/events/formats/avro/avro-format.ts';
import { protobufFormat } from '../../../src/events/formats/protobuf/protobuf-format.ts';
import {
  ConfluentRegistry,
  RegistryUnavailable,
  writeFrame,
} from '../../../src/events/registry/index.ts';
import { documentOf } from '../../support/records/read-event.ts';
import { recordingObserver, registrySettings } from '../../support/stack/registry.ts';

const { signal } = new AbortController();
/** A registry that just started answers slowly on a busy machine. */
const timeoutMs = 60_000;

let server: LocalRegistry;
let registry: ConfluentRegistry;
before(async () => {
  server = await startRegistry();
  registry = new ConfluentRegistry(registrySettings([server.url], { timeoutMs }));
});
after(async () => {
  await registry?.close();
  await server?.stop();
});

const EVENT = {
  type: 'record',
  name: 'Event',
  fields: [{ name: 'content', type: 'string' }],
} as const;
const LATER = { ...EVENT, fields: [...EVENT.fields, { name: 'likes', type: 'long', default: 0 }] };
const BROKEN = { ...EVENT, fields: [...EVENT.fields, { name: 'likes', type: 'long' }] };

const avro = (schema: object) => ({ type: 'AVRO', text: JSON.stringify(schema) }) as const;

function record(value: Buffer) {
  return { partition: 0, offset: 0, timestampMs: 0, key: null, value, headers: [] };
}

function avroRecord(id: number, content: string) {
  return record(
    writeFrame(id, avsc.Type.forSchema(EVENT as unknown as avsc.Schema).toBuffer({ content })),
  );
}

test('schemas are registered, found by id, subject, version and text, and what is not there is undefined', async () => {
  const id = await registry.register('found-value', avro(EVENT), signal);
  assert.equal(await registry.register('found-value', avro(EVENT), signal), id);
  const later = await registry.register('found-value', avro(LATER), signal);
  assert.equal((await registry.version('found-value', 'latest', signal))?.version, 2);
  assert.equal((await registry.version('found-value', 'latest', signal))?.id, later);
  assert.deepEqual(
    JSON.parse((await registry.version('found-value', 1, signal))?.text ?? ''),
    EVENT,
  );
  assert.equal((await registry.lookup('found-value', avro(EVENT), signal))?.version, 1);
  assert.deepEqual(JSON.parse((await registry.byId(id, signal))?.text ?? ''), EVENT);
  assert.equal(
    await registry.lookup('found-value', avro({ ...EVENT, name: 'Other' }), signal),
    undefined,
  );
  assert.equal(await registry.byId(1_000_000, signal), undefined);
  assert.equal(await registry.version('nobody-value', 'latest', signal), undefined);
  assert.equal(await registry.version('found-value', 9, signal), undefined);
});

test("a schema is compatible or not by the subject's rule, which a new subject does not have", async () => {
  await registry.register('ruled-value', avro(EVENT), signal);
  const answer = await fetch(`${server.url}/config/ruled-value`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ compatibility: 'BACKWARD' }),
  });
  assert.equal(answer.status, 200);
  assert.equal((await registry.compatibility('ruled-value', avro(LATER), signal)).compatible, true);
  assert.equal(
    (await registry.compatibility('ruled-value', avro(BROKEN), signal)).compatible,
    false,
  );
  assert.deepEqual(await registry.compatibility('new-value', avro(BROKEN), signal), {
    compatible: true,
    messages: [],
  });
});

test('a Protobuf file that imports another is read with what it refers to', async () => {
  const author = 'syntax = "proto3"; package people; message Author { int64 id = 1; }';
  await registry.register('people/author.proto', { type: 'PROTOBUF', text: author }, signal);
  const post =
    'syntax = "proto3"; import "people/author.proto"; message First {} message Post { people.Author author = 1; }';
  const references = [{ name: 'people/author.proto', subject: 'people/author.proto', version: 1 }];
  const id = await registry.register(
    'post-value',
    { type: 'PROTOBUF', text: post, references },
    signal,
  );
  const format = protobufFormat(registry);
  const one = record(
    writeFrame(id, Buffer.concat([Buffer.of(2, 2), Buffer.from([0x0a, 2, 0x08, 7])])),
  );
  await format.prepare?.([one], signal);
  assert.deepEqual(documentOf(format.read(one)), { author: { id: 7 } });
});

test('an id that the registry does not know makes its record a dead letter, and no other', async () => {
  const id = await registry.register('known-value', avro(EVENT), signal);
  const format = avroFormat(registry);
  const [known, unknown] = [avroRecord(id, 'hello'), avroRecord(1_000_000, 'hello')];
  await format.prepare?.([known, unknown], signal);
  assert.deepEqual(documentOf(format.read(known)), { content: 'hello' });
  assert.deepEqual(format.read(unknown).poison, {
    reason: 'unknown_schema',
    message: 'the registry does not know the schema id 1000000',
  });
});

test('while the registry is down records wait for it, and go on once it is back with what it knew', async () => {
  const id = await registry.register('lasting-value', avro(EVENT), signal);
  await server.kill();
  const down = Promise.withResolvers<string>();
  const observer = recordingObserver(down.resolve);
  const waiting = new ConfluentRegistry(
    registrySettings([server.url], { timeoutMs, observer, backoff: { baseMs: 50, capMs: 500 } }),
  );
  try {
    await assert.rejects(waiting.byId(id, signal), RegistryUnavailable);
    const format = avroFormat(waiting);
    const one = avroRecord(id, 'hello');
    const prepared = format.prepare?.([one], signal);
    assert.match(await down.promise, /^no connection to the registry \(ECONNREFUSED\)$/);
    await server.restart();
    await prepared;
    assert.deepEqual(documentOf(format.read(one)), { content: 'hello' });
    assert.ok(observer.calls.includes('available'));
    assert.equal(format.prepare?.([one], signal), undefined);
  } finally {
    await waiting.close();
  }
});
