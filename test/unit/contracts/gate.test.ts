/** The gate finds what breaks a published contract, and lets through what does not. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { type AsyncApi, asyncApiBreaks } from '../../../dev/contracts/asyncapi-breaks.ts';
import { type AvroSchema, avroBreaks } from '../../../dev/contracts/avro-breaks.ts';
import { contractBreaks } from '../../../dev/contracts/check.ts';
import {
  CONTRACTS_DIRECTORY,
  type Direction,
  readSchema,
} from '../../../dev/contracts/contracts.ts';
import type { JsonSchema } from '../../../dev/contracts/json-schema.ts';
import { jsonSchemaBreaks } from '../../../dev/contracts/json-schema-breaks.ts';
import { protobufBreaks } from '../../../dev/contracts/protobuf-breaks.ts';
import { contractFile } from '../../support/contracts.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests change schemas anywhere
type Loose = any;
type Case = readonly [name: string, change: (schema: Loose) => void, found: RegExp];

function jsonCase(
  file: 'decision' | 'content-event' | 'dead-letter',
  direction: Direction,
  change: (schema: Loose) => void,
): string {
  const published = readSchema(file);
  const current = structuredClone(published) as Loose;
  change(current);
  return jsonSchemaBreaks(published, current, direction)
    .map(({ at, what }) => `${at} ${what}`)
    .join('\n');
}

const OUTPUT_BREAKS: readonly Case[] = [
  [
    'a member that is removed',
    (s) => delete s.properties.labels_raw,
    /^\/labels_raw was removed: it breaks consumers that know the pub/,
  ],
  [
    'a required member that may be missing',
    (s) => s.required.splice(0, 1),
    /^\/id is required, and may be missing/,
  ],
  [
    'a member that is renamed',
    (s) => {
      s.properties.outcome = s.properties.result;
      delete s.properties.result;
    },
    /^\/result was removed/,
  ],
  [
    'a type that is changed',
    (s) => {
      s.properties.result.type = 'integer';
    },
    /^\/result may be integer, and must be string or null/,
  ],
  [
    'a type that is widened',
    (s) => {
      s.$defs.label.properties.applied.type = ['boolean', 'null'];
    },
    /^\/labels\[\]\/applied may be null/,
  ],
  [
    'a type that is no longer said',
    (s) => delete s.properties.metadata.type,
    /^\/metadata may be of any type, and must be object/,
  ],
  [
    'a type that is narrowed, to those who read old records',
    (s) => {
      s.properties.result.type = 'string';
    },
    /^\/result may be null, and must be string: it breaks consumers of the new version/,
  ],
  [
    'a new required member, to those who read old records',
    (s) => {
      s.properties.x = { type: 'string' };
      s.required.push('x');
    },
    /^\/x is required, and may be missing: it breaks consumers of the new version/,
  ],
  [
    'a value added to a closed list',
    (s) => {
      s.properties.status.enum.push('MAYBE');
      s.oneOf.push({ properties: { status: { const: 'MAYBE' } } });
    },
    /\/status may be "MAYBE", which is not known there/,
  ],
  [
    'a case that is added',
    (s) => {
      s.oneOf[0].properties.error = {};
    },
    /^\/error may be of any type, and must be null/,
  ],
  [
    'a pattern that is changed',
    (s) => {
      s.properties.id.pattern = '^.*$';
    },
    /^\/id pattern is "\^\.\*\$", and must fit/,
  ],
  [
    'a bound that is loosened',
    (s) => {
      s.$defs.source.properties.offset.minimum = -1;
    },
    /^\/source\/offset minimum is -1, and must fit 0/,
  ],
  [
    'a format that is dropped',
    (s) => delete s.properties.decided_at.format,
    /^\/decided_at format is not set/,
  ],
  [
    'a change deep inside',
    (s) => delete s.$defs.batch.properties.attempt,
    /^\/batch\/attempt was removed/,
  ],
  [
    'another name',
    (s) => {
      s.$id = 'urn:other';
    },
    /^\$id was "urn:content-review-connector:decision:v1"/,
  ],
  [
    'a keyword that the gate does not know',
    (s) => {
      s.properties.metadata.maxProperties = 3;
      s.properties.metadata.propertyNames = { pattern: 'a' };
    },
    /^\/metadata (maxProperties|propertyNames) is not set/m,
  ],
];

for (const [name, change, found] of OUTPUT_BREAKS)
  test(`JSON Schema of what is written: ${name} is a break`, () =>
    assert.match(jsonCase('decision', 'output', change), found));

test('JSON Schema of what is written: optional members, and words, break nobody', () => {
  const nothing = jsonCase('decision', 'output', (s) => {
    s.properties.confidence = { type: 'number', description: 'new' };
    s.$defs.source.properties.leader_epoch = { type: 'integer' };
    s.description = 'Said better.';
    s.properties.id.examples = [];
    s.required.reverse();
  });
  assert.equal(nothing, '');
});

test('JSON Schema of what is written: a list of known values that is open may grow', () => {
  const grown = (s: Loose) => s.properties['dead-letter-reason'].anyOf[0].enum.push('a_new_one');
  assert.equal(jsonCase('dead-letter', 'output', grown), '');
  const closed = (s: Loose) => s.properties['dead-letter-reason'].anyOf.pop();
  assert.match(
    jsonCase('dead-letter', 'output', closed),
    /dead-letter-reason may have any value, and must be one of/,
  );
});

const INPUT_BREAKS: readonly Case[] = [
  [
    'a new required member',
    (s) => {
      s.properties.lang = { type: 'string' };
      s.required.push('lang');
    },
    /^\/lang is required, and may be missing: it breaks the connector, of what producers send/,
  ],
  [
    'an old member that becomes required',
    (s) => s.required.push('metadata'),
    /^\/metadata is required, and may be missing/,
  ],
  [
    'a type that is narrowed',
    (s) => {
      s.properties.metadata.type = 'object';
    },
    /^\/metadata may be null, and must be object/,
  ],
  [
    'a list of allowed values that is new',
    (s) => {
      s.properties.type.enum = ['post'];
    },
    /^\/type may have any value/,
  ],
  [
    'a bound that is tightened',
    (s) => {
      s.properties.content.minLength = 2;
    },
    /^\/content minLength is 1, and must fit 2/,
  ],
  [
    'a bound that is new',
    (s) => {
      s.properties.content.maxLength = 20;
    },
    /^\/content maxLength is not set/,
  ],
  [
    'a member that is removed',
    (s) => delete s.properties.expected_result,
    /^\/expected_result was removed: what producers send/,
  ],
];

for (const [name, change, found] of INPUT_BREAKS)
  test(`JSON Schema of what is read: ${name} is a break`, () =>
    assert.match(jsonCase('content-event', 'input', change), found));

test('JSON Schema of what is read: a value taken from a list is a break, and one added is none', () => {
  const listed = (...values: string[]): JsonSchema => ({ properties: { lang: { enum: values } } });
  assert.match(
    jsonSchemaBreaks(listed('en', 'de'), listed('en'), 'input')[0]?.what ?? '',
    /may be "de"/,
  );
  assert.deepEqual(jsonSchemaBreaks(listed('en'), listed('en', 'de'), 'input'), []);
});

test('JSON Schema of what is read: to accept more breaks nobody', () => {
  const nothing = jsonCase('content-event', 'input', (s) => {
    s.properties.content.type = ['string', 'null'];
    s.properties.lang = { type: 'string' };
    s.required.pop();
    delete s.properties.type.minLength;
  });
  assert.equal(nothing, '');
});

const MEMBER = fc.constantFrom<JsonSchema>(
  { type: 'string' },
  { type: ['string', 'null'] },
  { type: 'integer' },
  { type: 'number', minimum: 0 },
  { type: 'integer', minimum: 1 },
  { enum: ['x', 'yy'] },
  { enum: ['x'] },
  { const: 'x' },
  { type: 'string', minLength: 2 },
  { anyOf: [{ type: 'null' }, { enum: ['x'] }] },
  {
    oneOf: [
      { type: 'null' },
      { type: 'object', properties: { c: { type: 'integer' } }, required: ['c'] },
    ],
  },
  { type: 'array', items: { type: 'string' } },
  { type: 'array', items: { type: ['string', 'integer'] } },
  {},
);
const OBJECT: fc.Arbitrary<JsonSchema> = fc.record({
  type: fc.constant('object'),
  properties: fc.dictionary(fc.constantFrom('a', 'b'), MEMBER, { maxKeys: 2 }),
  required: fc.subarray(['a', 'b']),
});
const POOL = [
  null,
  0,
  1,
  1.5,
  -1,
  'x',
  'yy',
  'zzz',
  true,
  {},
  { c: 1 },
  { c: 'x' },
  [],
  ['x'],
  [1],
  ['x', 1],
];

/** Every object with the members that a schema describes, of a pool of values. */
function* instances({ properties = {} }: JsonSchema): Generator<Record<string, unknown>> {
  const [first, second] = Object.keys(properties);
  for (const a of first === undefined ? [undefined] : [undefined, ...POOL])
    for (const b of second === undefined ? [undefined] : [undefined, ...POOL])
      yield {
        ...(a === undefined ? {} : { [first as string]: a }),
        ...(b === undefined ? {} : { [second as string]: b }),
      };
}

test('records of a schema that passes the check can be read with the other schema', () => {
  const ajv = new Ajv2020({ strict: false });
  const compiled = new Map<string, ReturnType<typeof ajv.compile>>();
  const fits = (schema: JsonSchema, value: unknown) => {
    const key = JSON.stringify(schema);
    const validate = compiled.get(key) ?? ajv.compile(schema);
    compiled.set(key, validate);
    return validate(value);
  };
  const seen = { passed: 0 };
  const reads = (reader: JsonSchema, writer: JsonSchema, about: object) => {
    for (const one of instances(writer)) {
      if (fits(writer, one)) assert.ok(fits(reader, one), JSON.stringify({ one, ...about }));
    }
  };
  fc.assert(
    fc.property(
      OBJECT,
      OBJECT,
      fc.constantFrom<Direction>('input', 'output'),
      (published, current, direction) => {
        if (jsonSchemaBreaks(published, current, direction).length > 0) return;
        seen.passed++;
        const about = { published, current, direction };
        reads(current, published, about);
        if (direction === 'output') reads(published, current, about);
      },
    ),
    { numRuns: 1_500 },
  );
  assert.ok(seen.passed > 20, `${seen.passed} pairs were let through`);
});

function avroCase(change: (schema: Loose) => void): string {
  const published = JSON.parse(contractFile('avro/decision.avsc')) as AvroSchema;
  const current = structuredClone(published) as Loose;
  change(current);
  return avroBreaks(published, current)
    .map(({ at, what }) => `${at} ${what}`)
    .join('\n');
}

const fieldOf = (schema: Loose, name: string): Loose =>
  schema.fields.find((field: Loose) => field.name === name);

const AVRO_BREAKS: readonly Case[] = [
  [
    'a field that is removed, although it has a default',
    (s) => {
      s.fields = s.fields.filter((f: Loose) => f.name !== 'content');
    },
    /^\/content was removed/,
  ],
  [
    'a new field without a default',
    (s) => s.fields.push({ name: 'x', type: 'string' }),
    /with this schema cannot read what was written under the published one/,
  ],
  [
    'a type that is changed',
    (s) => {
      fieldOf(s, 'id').type = 'long';
    },
    /^\/id was string, and is long/,
  ],
  [
    'a type that is widened, to old readers',
    (s) => {
      fieldOf(s, 'batch').type.fields[2].type = 'long';
    },
    /^\/batch\/attempt was int, and is long/,
  ],
  [
    'null where there was none',
    (s) => {
      fieldOf(s, 'id').type = ['null', 'string'];
    },
    /published schema cannot read what is written/,
  ],
  [
    'null that is taken away',
    (s) => {
      fieldOf(s, 'result').type = ['string'];
      delete fieldOf(s, 'result').default;
    },
    /^\/result may no longer be null/,
  ],
  [
    'another meaning of a number',
    (s) => {
      fieldOf(s, 'decided_at').type.logicalType = 'timestamp-micros';
    },
    /^\/decided_at the logicalType was timestamp-millis/,
  ],
  [
    'a meaning that is new',
    (s) => {
      fieldOf(s, 'batch').type.fields[2].type = { type: 'int', logicalType: 'date' };
    },
    /logical type date/,
  ],
  [
    'another namespace',
    (s) => {
      s.namespace = 'other';
    },
    /^\/ the namespace was content_review\.v1, and is other/,
  ],
  [
    'another name inside',
    (s) => {
      fieldOf(s, 'source').type.name = 'Where';
    },
    /^\/source the name was DecisionSource/,
  ],
  [
    'a symbol that is removed',
    (s) => {
      fieldOf(s, 'status').type.symbols.pop();
    },
    /^\/status no longer has ERROR/,
  ],
  [
    'items that are changed',
    (s) => {
      fieldOf(s, 'labels').type.items.fields.pop();
    },
    /^\/labels\[\]\/extra was removed/,
  ],
];

for (const [name, change, found] of AVRO_BREAKS)
  test(`Avro: ${name} is a break`, () => assert.match(avroCase(change), found));

test('Avro: new fields with a default, new symbols, and words, break nobody', () => {
  const nothing = avroCase((s) => {
    s.fields.unshift({ name: 'confidence', type: ['null', 'double'], default: null });
    fieldOf(s, 'status').type.symbols.push('POSTPONED');
    fieldOf(s, 'source').type.fields.push({ name: 'leader_epoch', type: 'int', default: -1 });
    s.doc = 'Said better.';
  });
  assert.equal(nothing, '');
});

const PROTO = `syntax = "proto3"; package p.v1;
message M { enum E { ZERO = 0; ONE = 1; } message In { string x = 1; } reserved 9, 20 to 22; reserved "gone";
  string a = 1; optional int64 b = 2; repeated In c = 3; E d = 4; map<string, string> e = 5; oneof f { string g = 6; } }
message N { string a = 1; }`;

const protoCase = (from: string, to: string): string => {
  assert.ok(PROTO.includes(from), from);
  return protobufBreaks(PROTO, PROTO.replace(from, to))
    .map(({ at, what }) => `${at} ${what}`)
    .join('\n');
};

const PROTO_BREAKS: readonly (readonly [name: string, from: string, to: string, found: RegExp])[] =
  [
    [
      'a field that is removed',
      'string a = 1; optional',
      'optional',
      /^\/M\.a number 1 was removed: .*1 and "a" are not reserved/,
    ],
    [
      'a field that is removed, and reserved',
      'string a = 1; optional',
      'reserved 1; reserved "a"; optional',
      /^\/M\.a number 1 was removed: consumers would miss it$/,
    ],
    [
      'a number that another field takes',
      'string a = 1; optional',
      'string z = 1; optional',
      /^\/M\.a number 1 is now "z"/,
    ],
    ['a number that is changed', 'int64 b = 2', 'int64 b = 12', /^\/M\.b number 2 was removed/],
    [
      'a type that is changed',
      'int64 b',
      'string b',
      /^\/M\.b was optional int64, and is optional string/,
    ],
    [
      'a field that can no longer be missing',
      'optional int64 b',
      'int64 b',
      /^\/M\.b was optional int64, and is int64/,
    ],
    [
      'a list that becomes one',
      'repeated In c',
      'In c',
      /^\/M\.c was repeated \.p\.v1\.M\.In, and is/,
    ],
    [
      'a map of another type',
      'map<string, string> e',
      'map<string, int32> e',
      /^\/M\.e was map<string, string>/,
    ],
    [
      'a field that leaves its oneof',
      'oneof f { string g = 6; }',
      'string g = 6;',
      /^\/M\.g was string in oneof f/,
    ],
    ['a field inside', 'string x = 1;', '', /^\/M\/In\.x number 1 was removed/],
    [
      'a reserved number that is taken',
      'reserved 9, 20 to 22;',
      'string h = 9;',
      /^\/M\.h takes number 9/,
    ],
    ['a reserved range that is given up', '20 to 22', '30', /^\/M no longer reserves 20 to 22/],
    ['an enum value that is removed', 'ONE = 1;', '', /^\/M\/E\.ONE was removed/],
    [
      'an enum value of another number',
      'ONE = 1;',
      'ONE = 2;',
      /^\/M\/E\.ONE was number 1, and is 2/,
    ],
    [
      'a message that is removed',
      'message N { string a = 1; }',
      '',
      /^\/N the message was removed/,
    ],
    [
      'a message of another place',
      'message M {',
      'message New { string a = 1; } message M {',
      /^\/M has another place among its messages/,
    ],
    ['another package', 'package p.v1', 'package p.v2', /^\/ the package was p\.v1/],
  ];

for (const [name, from, to, found] of PROTO_BREAKS)
  test(`Protobuf: ${name} is a break`, () => assert.match(protoCase(from, to), found));

test('Protobuf: new fields, values and messages, and words, break nobody', () => {
  const grown = PROTO.replace('ONE = 1;', 'ONE = 1; TWO = 2;').replace(
    'string a = 1; optional',
    '// said\n string a = 1; bool new = 7; optional',
  );
  assert.deepEqual(protobufBreaks(PROTO, `${grown} message After { string a = 1; }`), []);
});

test('contracts/ breaks no published contract, in a process as CI runs it', () => {
  const script = new URL('../../../dev/contracts/check.ts', import.meta.url).pathname;
  assert.equal(
    execFileSync(process.execPath, [script], { encoding: 'utf8' }),
    'contracts/ breaks nothing that was published\n',
  );
});

/** Messages with the headers of an outcome, in the order of the document's operations. */
const OUTCOMES = [
  'decisions/decision',
  'receipts/receipt',
  'lookedUpDecisions/lookedUpDecision',
].flatMap((message) => ['', 'Avro', 'Protobuf'].map((format) => message + format));

const ASYNC_API: AsyncApi = { text: contractFile('asyncapi.yaml'), directory: CONTRACTS_DIRECTORY };

function asyncApiCase(change: (document: Loose) => void): string[] {
  const document = parse(ASYNC_API.text) as Loose;
  change(document);
  const current = { text: stringify(document), directory: CONTRACTS_DIRECTORY };
  return asyncApiBreaks(ASYNC_API, current).map(({ at, what }) => `${at} ${what}`);
}

const ASYNC_API_BREAKS: readonly Case[] = [
  [
    'a header that may be missing',
    (d) => delete d.components.messageTraits.outcome.headers.required,
    /^decisions\/decision\/headers\/event-id is required, and may be missing/,
  ],
  [
    'a header that is removed',
    (d) => {
      d.components.messageTraits.outcome.headers = { type: 'object' };
    },
    /^decisions\/decision\/headers\/event-id is required, and may be missing/,
  ],
  [
    'a header that is renamed and optional',
    (d) => {
      const { headers } = d.components.messageTraits.outcome;
      headers.properties = { id: headers.properties['event-id'] };
    },
    /^decisions\/decision\/headers\/event-id was removed/,
  ],
  [
    'a message without its headers',
    (d) => delete d.components.messages.receiptAvro.traits,
    /^receipts\/receiptAvro\/headers\/event-id/,
  ],
  [
    'a dead letter without its headers',
    (d) => delete d.components.messages.deadLetter.headers,
    /^deadLetters\/deadLetter\/headers/,
  ],
  [
    'a header of another type',
    (d) => {
      d.components.messageTraits.outcome.headers.properties['event-id'].type = 'integer';
    },
    /^decisions\/decision\/headers\/event-id may be integer, and must be string/,
  ],
  [
    'a header that old records lack',
    (d) => {
      d.components.messageTraits.outcome.headers.properties.more = { type: 'string' };
      d.components.messageTraits.outcome.headers.required.push('more');
    },
    /^decisions\/decision\/headers\/more is required, and may be missing: it breaks consumers of the new version/,
  ],
  [
    'a value without a file of its own that must have more',
    (d) => d.components.messages.importRecord.payload.required.push('id'),
    /^importRecords\/importRecord\/payload\/id is required, and may be missing: it breaks the connector/,
  ],
  [
    'a message that is removed',
    (d) => delete d.channels.decisions.messages.decisionAvro,
    /^decisions\/decisionAvro the message was removed/,
  ],
  [
    'a topic that nobody sends to',
    (d) => delete d.operations.sendReceipts,
    /^receipts\/receipt the message was removed/,
  ],
  [
    'another type of content',
    (d) => {
      d.components.messages.decision.contentType = 'text/plain';
    },
    /^decisions\/decision\/contentType was application\/json, and is text\/plain/,
  ],
  [
    'another id',
    (d) => {
      d.id = 'urn:other';
    },
    /^id was "urn:content-review-connector:topics:v1"/,
  ],
];

for (const [name, change, found] of ASYNC_API_BREAKS)
  test(`AsyncAPI: ${name} is a break`, () => assert.match(asyncApiCase(change)[0] ?? '', found));

test('AsyncAPI: new optional headers, messages, words and addresses break nobody, nor does a change of where things stand', () => {
  const found = asyncApiCase((d) => {
    const { headers } = d.components.messageTraits.outcome;
    headers.properties.more = { type: 'string' };
    headers.description = 'said anew';
    d.components.messages.more = { headers, payload: { type: 'string' } };
    d.channels.decisions.messages.more = { $ref: '#/components/messages/more' };
    d.channels.decisions.address = 'elsewhere';
    // The same headers, in the message itself and behind a reference.
    d.components.schemas = { id: headers.properties['event-id'] };
    const inline = structuredClone(headers);
    inline.properties['event-id'] = { $ref: '#/components/schemas/id' };
    delete d.components.messages.decision.traits;
    d.components.messages.decision.headers = inline;
  });
  assert.deepEqual(found, []);
});

test('a published file that is missing is named', () => {
  const directory = temporaryDirectory();
  cpSync(CONTRACTS_DIRECTORY, directory, { recursive: true });
  rmSync(path.join(directory, 'dead-letter.schema.json'));
  const found = () =>
    contractBreaks(pathToFileURL(`${directory}/`)).map(({ file, at }) => `${file} ${at}`);
  assert.equal(found().at(-1), 'contracts/dead-letter.schema.json /');
  rmSync(path.join(directory, 'asyncapi.yaml'));
  assert.deepEqual(found(), ['contracts/asyncapi.yaml /', 'contracts/dead-letter.schema.json /']);
});

test('every file that was published is compared, and what is broken in it named', () => {
  const directory = temporaryDirectory();
  cpSync(CONTRACTS_DIRECTORY, directory, { recursive: true });
  const broken = (file: string, from: RegExp, to: string) => {
    const where = path.join(directory, file);
    writeFileSync(where, readFileSync(where, 'utf8').replace(from, to));
  };
  broken('receipt.schema.json', /"import_id": \{/, '"import_number": {');
  broken('avro/receipt.avsc', /"name": "attempt"/, '"name": "tries"');
  broken('protobuf/receipt.proto', /attempt = 5/, 'attempt = 15');
  broken(
    'content-event.schema.json',
    /"required": \["content", "type"\]/,
    '"required": ["content", "type", "metadata"]',
  );
  broken('asyncapi.yaml', /\n *required: \[event-id\]/, '');
  const found = contractBreaks(pathToFileURL(`${directory}/`)).map(
    ({ file, at }) => `${file} ${at}`,
  );
  assert.deepEqual(found, [
    ...OUTCOMES.map((message) => `contracts/asyncapi.yaml ${message}/headers/event-id`),
    'contracts/avro/receipt.avsc /attempt',
    'contracts/content-event.schema.json /metadata',
    'contracts/protobuf/receipt.proto /Receipt.attempt',
    'contracts/receipt.schema.json /import_id',
  ]);
});
