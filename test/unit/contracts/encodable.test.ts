/** Avro and Protobuf say what the JSON says: all of it, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import avro from 'avsc';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { CONTRACTS, type ContractName, readSchema } from '../../../dev/contracts/contracts.ts';
import { type JsonSchema, resolved } from '../../../dev/contracts/json-schema.ts';
import { avroForm, protobufForm } from '../../../src/contracts/encodable.ts';
import { jsonForm } from '../../../src/contracts/json-form.ts';
import { codecOf } from '../../../src/events/formats/output/contract.ts';
import { decimals } from '../../property/kinds/review/decimals.ts';
import { hostileText, metadataText } from '../../property/kinds/review/hostile.ts';
import { contractFile } from '../../support/contracts.ts';

type Members = Record<string, unknown>;

const VALUES = CONTRACTS.filter(({ value }) => value).map(({ name }) => name);
const OUTPUTS = ['decision', 'looked-up-decision', 'receipt'] as const;

function avroType(name: ContractName): avro.Type {
  return avro.Type.forSchema(JSON.parse(contractFile(`avro/${name}.avsc`)));
}

function protobufType(name: ContractName): protobuf.Type {
  const { root, package: scope } = protobuf.parse(contractFile(`protobuf/${name}.proto`), {
    keepCase: true,
  });
  const pascal = name.replace(/(?:^|-)([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  return root.lookupType(`${scope}.${pascal}`);
}

/** Names of all fields, `/` between levels. */
function jsonFields(schema: JsonSchema, root: JsonSchema, at = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const inner = [member, member.items ?? {}, ...(member.oneOf ?? [])].map((part) =>
      resolved(part, root),
    );
    return [`${at}/${name}`, ...inner.flatMap((part) => jsonFields(part, root, `${at}/${name}`))];
  });
}

interface AvroSchema {
  readonly type: unknown;
  readonly fields?: readonly { readonly name: string; readonly type: unknown }[];
  readonly items?: unknown;
}

function avroFields(schema: unknown, at = ''): string[] {
  if (Array.isArray(schema)) return schema.flatMap((one) => avroFields(one, at));
  const { fields = [], items } = schema as AvroSchema;
  const deeper = items === undefined ? [] : avroFields(items, at);
  return [
    ...deeper,
    ...fields.flatMap(({ name, type }) => [`${at}/${name}`, ...avroFields(type, `${at}/${name}`)]),
  ];
}

function protobufFields(type: protobuf.Type, at = ''): string[] {
  return type.fieldsArray.flatMap((field) => {
    const { resolvedType, name } = field.resolve();
    const inner =
      resolvedType instanceof protobuf.Type ? protobufFields(resolvedType, `${at}/${name}`) : [];
    return [`${at}/${name}`, ...inner];
  });
}

for (const name of VALUES) {
  test(`${name}: the Avro and Protobuf schemas have the fields of the JSON Schema, and of labels what else there is`, () => {
    const root = readSchema(name);
    const wanted = [
      ...jsonFields(root, root),
      ...(root.$defs?.label === undefined ? [] : ['/labels/extra']),
    ].sort();
    assert.deepEqual(avroFields(JSON.parse(contractFile(`avro/${name}.avsc`))).sort(), wanted);
    const plain = (field: string) =>
      field.replace(/_ms$/, '').replace(/(metadata|extra)_json$/, '$1');
    assert.deepEqual(protobufFields(protobufType(name)).map(plain).sort(), wanted);
  });

  test(`${name}: one type a file without references, in the namespace of its version`, () => {
    const proto = contractFile(`protobuf/${name}.proto`);
    const { imports, weakImports, package: scope, root } = protobuf.parse(proto);
    assert.deepEqual([scope, imports ?? [], weakImports ?? []], ['content_review.v1', [], []]);
    const space = root.lookup('content_review.v1') as protobuf.Namespace;
    assert.equal(space.nestedArray.length, 1, 'the index of the message in its file must be 0');
    assert.equal(JSON.parse(contractFile(`avro/${name}.avsc`)).namespace, 'content_review.v1');
  });
}

const isoOf = (ms: unknown) =>
  ms === null || ms === undefined ? null : new Date(Number(ms)).toISOString();

/** The JSON of a decoded Avro record. */
function fromAvro(decoded: Members): Members {
  const { labels, metadata, source, decided_at, error, batch, ...rest } = decoded;
  return compact({
    ...rest,
    ...(labels === undefined
      ? {}
      : { labels: (labels as Members[]).map((label) => labelOf(label, label.extra)) }),
    ...(metadata === undefined ? {} : { metadata: decimals(String(metadata)) }),
    error: error === null ? null : { ...(error as Members) },
    ...(batch === undefined ? {} : { batch: { ...(batch as Members) } }),
    source: { ...(source as Members), timestamp: isoOf((source as Members).timestamp) },
    decided_at: isoOf(decided_at),
  });
}

/** The JSON of a decoded Protobuf message. */
function fromProtobuf(decoded: Members): Members {
  const { labels, metadata_json, source, decided_at_ms, error, status, ...rest } = decoded;
  const { timestamp_ms, ...coordinates } = source as Members;
  return compact({
    ...rest,
    status: String(status).replace('STATUS_', ''),
    labels: ((labels ?? []) as Members[]).map((label) => labelOf(label, label.extra_json)),
    ...(metadata_json === undefined ? {} : { metadata: decimals(String(metadata_json)) }),
    error: error ?? null,
    source: { ...coordinates, timestamp: isoOf(timestamp_ms) },
    decided_at: isoOf(decided_at_ms),
  });
}

function labelOf({ name, applied, explanation }: Members, extra: unknown): Members {
  const more = typeof extra === 'string' ? (decimals(extra) as Members) : {};
  return { name, applied, explanation: explanation ?? null, ...more };
}

/** Without what is null: JSON leaves some such members out and writes others, by contract. */
function compact(value: Members): Members {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) => {
      if (part === null || part === undefined) return [];
      const nested = name === 'source' || name === 'batch' || name === 'error';
      return [[name, nested ? compact(part as Members) : part]];
    }),
  );
}

const AVRO = new Map(OUTPUTS.map((name) => [name, avroType(name)]));
const PROTOBUF = new Map(OUTPUTS.map((name) => [name, protobufType(name)]));

function overAvro(name: (typeof OUTPUTS)[number], json: string): Members {
  const type = AVRO.get(name) as avro.Type;
  return fromAvro(type.fromBuffer(type.toBuffer(avroForm(json))) as Members);
}

function overProtobuf(name: (typeof OUTPUTS)[number], json: string): Members {
  const type = PROTOBUF.get(name) as protobuf.Type;
  const bytes = type.encode(type.fromObject(protobufForm(json))).finish();
  const decoded = type.toObject(type.decode(bytes), {
    enums: String,
    longs: Number,
    defaults: true,
  });
  const members = fromProtobuf(decoded);
  // A receipt has none, and a list that is empty is as good as none to Protobuf.
  if (name === 'receipt') delete members.labels;
  return members;
}

/** A consumer gets the JSON form with all of its nulls, and without the members that JSON leaves out. */
function assertJsonForm(name: (typeof OUTPUTS)[number], json: string): void {
  const { labels, metadata, ...rest } = JSON.parse(json) as Members;
  const texts = JSON.parse(JSON.stringify(rest), (_key, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
  const form = {
    ...texts,
    ...(labels !== undefined && { labels: (labels as Members[]).map(wellFormedLabel) }),
    ...(metadata !== undefined && { metadata }),
  };
  for (const format of ['avro', 'protobuf'] as const) {
    const codec = codecOf(name, format);
    assert.deepEqual(jsonForm(codec.decode(Buffer.from(codec.encode(json)))), form, format);
  }
}

/** As both ends must have it: numbers of metadata and labels as exact decimals, without nulls, and with texts that UTF-8 can hold. */
function wanted(json: string): Members {
  const { metadata, labels } = decimals(json) as Members;
  const { metadata: _metadata, labels: _labels, ...rest } = JSON.parse(json) as Members;
  const texts = JSON.parse(JSON.stringify(rest), (_key, value) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
  return compact({
    ...texts,
    ...(labels === undefined ? {} : { labels: (labels as Members[]).map(wellFormedLabel) }),
    ...(metadata === undefined ? {} : { metadata }),
  });
}

const wellFormedLabel = ({ name, explanation, ...rest }: Members): Members => ({
  ...rest,
  name: String(name).toWellFormed(),
  explanation: typeof explanation === 'string' ? explanation.toWellFormed() : null,
});

const EXAMPLES = [
  ['decision', 'decision'],
  ['decision', 'decision-error'],
  ['looked-up-decision', 'looked-up-decision'],
  ['receipt', 'receipt'],
] as const;

test('the JSON examples come back equal over Avro and over Protobuf', () => {
  for (const [name, example] of EXAMPLES) {
    const json = contractFile(`examples/${example}.json`);
    assert.deepEqual(overAvro(name, json), wanted(json));
    assert.deepEqual(overProtobuf(name, json), wanted(json));
    assertJsonForm(name, json);
  }
  assert.match(
    String(avroForm(contractFile('examples/decision.json')).metadata),
    /12345678901234567890/,
  );
});

const label = fc.record(
  {
    name: hostileText,
    applied: fc.boolean(),
    explanation: fc.option(hostileText),
    score: fc.double(),
    extra: fc.anything(),
  },
  { requiredKeys: ['name', 'applied', 'explanation'] },
);
const instant = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date(8.64e15) })
  .map((date) => date.toISOString());

test('all content of a decision comes back over Avro and Protobuf: metadata with its digits, labels with all members', () => {
  const decision = fc.record({
    head: fc.record(
      { service_status: hostileText, labels_raw: hostileText, content: hostileText },
      { requiredKeys: [] },
    ),
    result: fc.option(hostileText),
    expected_result: fc.option(hostileText),
    labels: fc.array(label, { maxLength: 3 }),
    metadata: metadataText,
    error: fc.option(fc.record({ code: fc.constant('review_failed'), message: hostileText })),
    // avsc refuses the very last.
    offset: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 1 }),
    key: fc.oneof(
      fc.record({ key: fc.option(hostileText) }),
      fc.constant({ key: '/w==', key_encoding: 'base64' }),
    ),
    timestamp: fc.option(instant),
    id: fc.option(hostileText),
  });
  fc.assert(
    fc.property(
      decision,
      ({ head, metadata, labels, error, offset, key, timestamp, id, ...rest }) => {
        const members = {
          id: `t-0-${offset}`,
          status: error === null ? 'SUCCESS' : 'ERROR',
          ...head,
          ...rest,
          labels: JSON.parse(JSON.stringify(labels)),
          error,
          batch: { id, type: 't', attempt: 1 },
          source: { topic: 't', partition: 0, offset, ...key, timestamp },
          decided_at: '2026-01-01T00:00:00.000Z',
        };
        const json = `${JSON.stringify(members).slice(0, -1)},"metadata":${metadata}}`;
        assert.deepEqual(overAvro('decision', json), wanted(json));
        assert.deepEqual(overProtobuf('decision', json), wanted(json));
        assertJsonForm('decision', json);
      },
    ),
    { numRuns: 300 },
  );
});

test('a status that is newer than a reader is UNKNOWN to it, and no error', () => {
  const schema = JSON.parse(contractFile('avro/decision.avsc'));
  const newer = structuredClone(schema);
  const status = newer.fields.find(({ name }: { name: string }) => name === 'status').type;
  status.symbols.push('POSTPONED');
  const [reader, writer] = [avro.Type.forSchema(schema), avro.Type.forSchema(newer)];
  const example = avroForm(contractFile('examples/decision.json'));
  const bytes = writer.toBuffer({ ...example, status: 'POSTPONED' });
  const read = reader.fromBuffer(bytes, reader.createResolver(writer)) as { status: string };
  assert.equal(read.status, 'UNKNOWN');
});

test('the content event of the examples fits the templates for producers', () => {
  const { metadata, ...event } = JSON.parse(contractFile('examples/content-event.json'));
  assert.ok(metadata);
  const own = { ...event, metadata: { user_id: '007' } };
  const type = avroType('content-event');
  assert.deepEqual({ ...(type.fromBuffer(type.toBuffer(own)) as object) }, own);
  const message = protobufType('content-event');
  assert.deepEqual(
    message.toObject(message.decode(message.encode(message.fromObject(own)).finish())),
    own,
  );
});
