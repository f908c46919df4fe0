/** Records of every source format, each with its expected item or dead letter. The mapping comes from the test. */
import assert from 'node:assert/strict';
import { type SchemaRegistry, writeFrame } from '../../../src/events/registry/index.ts';
import { headerList } from '../records/headers.ts';
import type { NewRecord } from '../stack/topic-writer.ts';
import { type ConfluentRecord, confluentRecords } from './confluent-records.ts';

export type Format = 'avro' | 'protobuf' | 'json-schema' | 'text' | 'cloudevents';

interface Reviewed {
  readonly content: string;
  readonly type: string;
  /** JSON text of the metadata, with the digits that numbers must keep. */
  readonly metadata: string;
}

interface Letter {
  readonly reason: string;
  readonly message: RegExp;
}

export interface SourceFormatRecord extends NewRecord {
  readonly name: string;
  readonly becomes: Reviewed | Letter;
}

/** Schema id that no registry has assigned. */
const NOWHERE = 2_000_000_000;

/** Returns the records after registering their schemas. */
export async function sourceFormatRecords(
  registry: SchemaRegistry,
  signal: AbortSignal,
): Promise<Readonly<Record<Format, readonly SourceFormatRecord[]>>> {
  const records = await confluentRecords(registry, signal);
  return {
    avro: [...reviewed(records, 'avro'), ...brokenAvro(records)],
    protobuf: [
      ...reviewed(records, 'protobuf'),
      await protobufDecimal(registry, signal),
      ...brokenProtobuf(records),
    ],
    'json-schema': [...reviewed(records, 'json-schema'), ...brokenJsonSchema(records)],
    text: TEXTS,
    cloudevents: CLOUD_EVENTS,
  };
}

function reviewed(
  records: readonly ConfluentRecord[],
  format: ConfluentRecord['format'],
): SourceFormatRecord[] {
  return records.flatMap(({ name, value, expected, ...record }) => {
    if (record.format !== format || expected === null) return [];
    const { content, text, colour, kind } = JSON.parse(expected) as Readonly<
      Record<string, string | undefined>
    >;
    const becomes = {
      content: content ?? text ?? '',
      type: colour ?? kind ?? 'post',
      metadata: expected,
    };
    return [{ name, value, becomes }];
  });
}

const one = (records: readonly ConfluentRecord[], name: string): Buffer =>
  records.find((record) => record.name === name)?.value ?? assert.fail(name);

const cut = (value: Buffer): Buffer => value.subarray(0, -3);

const undecodable = (message: RegExp): Letter => ({ reason: 'undecodable', message });
const UNKNOWN: Letter = {
  reason: 'unknown_schema',
  message: /^the registry does not have the schema id 2000000000$/,
};

function brokenAvro(records: readonly ConfluentRecord[]): SourceFormatRecord[] {
  const whole = one(records, 'avro: every type and logical type');
  const message = one(records, 'protobuf: a nested message');
  return [
    { name: 'unknown id', value: writeFrame(NOWHERE, whole.subarray(5)), becomes: UNKNOWN },
    { name: 'cut off', value: cut(whole), becomes: undecodable(/Avro/) },
    {
      name: 'trailing bytes',
      value: Buffer.concat([whole, Buffer.from([0])]),
      becomes: undecodable(/Avro/),
    },
    { name: 'no frame', value: Buffer.from('{"content":"plain"}'), becomes: undecodable(/byte 0/) },
    { name: 'of another type', value: message, becomes: undecodable(/PROTOBUF/) },
    {
      name: 'no record',
      value: one(records, 'avro: no record'),
      becomes: { reason: 'not_an_object', message: /a string/ },
    },
  ];
}

/** Record with a decimal that has a scale. The decimal's message type is Confluent's and is not registered. */
async function protobufDecimal(
  registry: SchemaRegistry,
  signal: AbortSignal,
): Promise<SourceFormatRecord> {
  const text =
    'syntax = "proto3"; import "confluent/type/decimal.proto"; message Priced { string content = 1; confluent.type.Decimal price = 2; }';
  const id = await registry.register('priced', { type: 'PROTOBUF', text }, signal);
  // Index of the first message, then the content, then the price: 1000 in two bytes, precision 4, scale 2.
  const payload = Buffer.concat([
    Buffer.from('\0\x0a\x06priced'),
    Buffer.from([0x12, 8, 0x0a, 2, 3, 0xe8, 0x10, 4, 0x18, 2]),
  ]);
  const becomes = {
    content: 'priced',
    type: 'post',
    metadata: '{"content":"priced","price":10.00}',
  };
  return { name: 'a decimal with its scale', value: writeFrame(id, payload), becomes };
}

function brokenProtobuf(records: readonly ConfluentRecord[]): SourceFormatRecord[] {
  const whole = one(records, 'protobuf: every type, references and well-known types');
  const ambiguous = one(records, 'protobuf: one of two messages next to a map');
  return [
    { name: 'unknown id', value: writeFrame(NOWHERE, whole.subarray(5)), becomes: UNKNOWN },
    { name: 'cut off', value: cut(whole), becomes: undecodable(/Protobuf/) },
    { name: 'ambiguous', value: ambiguous, becomes: undecodable(/Left or Right/) },
  ];
}

function brokenJsonSchema(records: readonly ConfluentRecord[]): SourceFormatRecord[] {
  const whole = one(records, 'json-schema: a reference, and an integer beyond a double');
  return [
    { name: 'unknown id', value: writeFrame(NOWHERE, whole.subarray(5)), becomes: UNKNOWN },
    { name: 'cut off', value: cut(whole), becomes: { reason: 'not_json', message: /JSON/ } },
  ];
}

const TEXTS: readonly SourceFormatRecord[] = [
  {
    name: 'a text',
    value: 'naïve 😀,\n"quoted"\r\n',
    headers: headerList({ type: 'note', lang: '' }),
    becomes: { content: 'naïve 😀,\n"quoted"\r\n', type: 'note', metadata: '{"lang":""}' },
  },
  {
    name: 'without a header',
    value: '{"not": "read"}',
    headers: [['type', 'comment']],
    becomes: { content: '{"not": "read"}', type: 'comment', metadata: '{"lang":null}' },
  },
  {
    name: 'no UTF-8',
    value: Buffer.from([0xc3, 0x28]),
    headers: [['type', 'note']],
    becomes: undecodable(/UTF-8/),
  },
];

const ATTRIBUTES = {
  ce_specversion: '1.0',
  ce_id: 'e-1',
  ce_source: '/posts',
  ce_type: 'comment',
  ce_subject: 'post/7',
};
const DATA = '{"text":"hi","id":12345678901234567890,"deep":[{"min":-9223372036854775808}]}';
const STRUCTURED = { 'content-type': 'application/cloudevents+json; charset=UTF-8' };
const CLOUD_EVENTS: readonly SourceFormatRecord[] = [
  {
    name: 'binary, JSON',
    value: DATA,
    headers: headerList({ ...ATTRIBUTES, 'content-type': 'application/json' }),
    becomes: {
      content: 'hi',
      type: 'comment',
      metadata: `{"id":"e-1","about":"post/7","data":${DATA}}`,
    },
  },
  {
    name: 'binary, a text',
    value: 'plain',
    headers: headerList({ ...ATTRIBUTES, ce_type: 'note', 'content-type': 'text/plain' }),
    becomes: {
      content: 'plain',
      type: 'note',
      metadata: '{"id":"e-1","about":"post/7","data":"plain"}',
    },
  },
  {
    name: 'structured',
    value: `{"specversion":"1.0","id":"e-2","source":"/posts","type":"comment","data":${DATA}}`,
    headers: headerList(STRUCTURED),
    becomes: {
      content: 'hi',
      type: 'comment',
      metadata: `{"id":"e-2","about":null,"data":${DATA}}`,
    },
  },
  {
    name: 'binary, without an id',
    value: DATA,
    headers: headerList({ ...ATTRIBUTES, ce_id: '' }),
    becomes: undecodable(/id/),
  },
  {
    name: 'structured, no JSON',
    value: DATA.slice(1),
    headers: headerList(STRUCTURED),
    becomes: { reason: 'not_json', message: /JSON/ },
  },
];
