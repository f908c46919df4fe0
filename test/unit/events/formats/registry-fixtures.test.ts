/** Records that Confluent's Python client wrote (test/fixtures/registry/generate.py), read with the schemas that the registry then had. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { EventInput } from '../../../../src/events/expression/index.ts';
import type { EventFormat } from '../../../../src/events/format.ts';
import { avroFormat } from '../../../../src/events/formats/avro-format.ts';
import { protobufFormat } from '../../../../src/events/formats/protobuf-format.ts';
import { jsonSchemaFormat } from '../../../../src/events/formats/registry-format.ts';
import { ConfluentRegistry } from '../../../../src/events/registry/index.ts';
import { jsonOf } from '../../../support/records/read-event.ts';
import {
  type FakeRegistry,
  fakeRegistry,
  registrySettings,
} from '../../../support/stack/registry.ts';

interface Fixture {
  readonly name: string;
  readonly format: string;
  readonly value: string;
  /** JSON text; null when the record cannot be an event. */
  readonly expected: string | null;
}

const FILE = new URL('../../../fixtures/registry/fixtures.json', import.meta.url);
const { answers, records } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly answers: Record<string, unknown>;
  readonly records: readonly Fixture[];
};
const REFUSED: Readonly<Record<string, RegExp>> = {
  'avro: no record': /^the value is a string and not an object$/,
  'protobuf: one of two messages beside a map':
    /^the indexes of the record may mean Left or Right, because Pair has maps or groups/,
  'protobuf, registered as a file: one of two messages beside a map':
    /^the indexes of the record may mean Left or Right/,
};

let server: FakeRegistry;
let registry: ConfluentRegistry;
let formats: Record<string, EventFormat>;
before(async () => {
  server = await fakeRegistry(answers);
  registry = new ConfluentRegistry(registrySettings([server.url]));
  formats = {
    avro: avroFormat(registry),
    'json-schema': jsonSchemaFormat(registry),
    protobuf: protobufFormat(registry),
  };
});
after(async () => {
  await registry.close();
  await server[Symbol.asyncDispose]();
});

for (const { name, format, value, expected } of records) {
  test(`a record of Confluent's Python client is read: ${name}`, async () => {
    const record = {
      partition: 0,
      offset: 0,
      timestampMs: 0,
      key: null,
      value: Buffer.from(value, 'base64'),
      headers: [],
    };
    const reader = formats[format] as EventFormat;
    await reader.prepare?.([record], new AbortController().signal);
    const read = reader.read(record);
    if (expected === null) {
      const poison = read.poison ?? new EventInput().begin(read, record);
      assert.match(poison?.message ?? '', REFUSED[name] as RegExp);
      return;
    }
    assert.equal(read.poison, undefined);
    const json = jsonOf(read) ?? '';
    assert.deepEqual(JSON.parse(json), JSON.parse(expected));
    assert.deepEqual(numbersOf(json), numbersOf(expected));
  });
}

/** The numbers of a JSON text, as they are written: deepEqual does not look into numbers that kept their digits. */
function numbersOf(text: string): string[] {
  return (text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? []).sort();
}
