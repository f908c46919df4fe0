/** Decimals of Avro and Protobuf on their whole way through a review: record, row, result, decision. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf } from '../../../../src/app/tools/sample.ts';
import type { EventFormat } from '../../../../src/events/format.ts';
import { reviewKind } from '../../../../src/kinds/review/index.ts';
import { readAvro } from '../../../support/records/avro.ts';
import { protobufReader } from '../../../support/records/protobuf.ts';
import {
  decisions,
  itemOf,
  kindWithFile,
  ROW_KEY,
  scriptedService,
  sourceRecord,
} from './sample.ts';

const DECIMAL = { type: 'bytes', logicalType: 'decimal', precision: 8, scale: 2 };
const avro: EventFormat = {
  read: ({ value }) => {
    const fields = [
      { name: 'content', type: 'string' },
      {
        name: 'metadata',
        type: { type: 'map', values: ['long', DECIMAL, { type: 'array', items: DECIMAL }] },
      },
    ];
    return readAvro({ type: 'record', name: 'R', fields }, value);
  },
};
const money = `syntax = "proto3"; import "confluent/type/decimal.proto";
message M { string content = 1; map<string, confluent.type.Decimal> metadata = 2; }`;
const protobuf: EventFormat = {
  read: ({ value }) => protobufReader(money)(value),
};

/** The uploaded row, and the metadata of the decision that it comes back as. */
async function reviewed(
  format: EventFormat,
  value: Buffer,
): Promise<{ row: string; metadata: string }> {
  const options = { topic: 'events', type: { constant: 'post' }, format };
  const kind = reviewKind(options, scriptedService());
  const { body } = await bodyOf(kind, [itemOf(kind, sourceRecord(value))], ROW_KEY);
  const [header, row = ''] = body.toString().split('\r\n');
  const [decision] = await decisions(
    kindWithFile(`${header},Status\r\n${row},SUCCESS\r\n`, options),
  );
  return { row, metadata: /"metadata":(\{.*?\})/.exec(String(decision?.value))?.[1] ?? '' };
}

test('a decimal keeps its scale in the file and in the decision, and an integer of 64 bits its digits', async () => {
  const long = [0, 0xfe, ...Array(8).fill(0xff), 0x01];
  const ten = [4, 0x03, 0xe8];
  const entries = [2, 0x61, 2, ...ten, 2, 0x62, ...long, 2, 0x63, 4, 4, ...ten, 2, 100, 0];
  const { row, metadata } = await reviewed(avro, Buffer.from([2, 0x78, 6, ...entries, 0]));
  assert.match(row, /^x,10\.00,9223372036854775807,"\[10\.00,1\.00\]",/);
  assert.equal(metadata, '{"a":10.00,"b":9223372036854775807,"c":[10.00,1.00]}');
});

test("so does Confluent's decimal in Protobuf", async () => {
  const { row, metadata } = await reviewed(
    protobuf,
    Buffer.from([10, 1, 0x78, 18, 10, 10, 1, 0x61, 18, 5, 10, 1, 100, 24, 2]),
  );
  assert.match(row, /^x,1\.00,/);
  assert.equal(metadata, '{"a":1.00}');
});
