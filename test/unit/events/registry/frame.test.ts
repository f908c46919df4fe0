import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordHeaders } from '../../../../src/core/record.ts';
import { readFrame, readMessageIndexes } from '../../../../src/events/registry/index.ts';

const bytes = (...values: number[]) => Buffer.from(values);

test('a value without a frame is refused with the expected form, without its content', () => {
  const objection = (value: Buffer, headers: RecordHeaders = []) =>
    readFrame(value, headers).poison;
  for (const value of [
    Buffer.from('{"content":1}'),
    bytes(),
    bytes(0, 0, 0, 1),
    bytes(0, 255, 255, 255, 255),
    Buffer.alloc(40, 1),
  ]) {
    assert.deepEqual(objection(value), {
      reason: 'undecodable',
      message:
        'the value does not begin with a schema id: expected the byte 0, a schema id in 4 bytes, then the data, as the serializers of a schema registry write them',
    });
  }
  assert.match(
    objection(Buffer.from('payload'), [['__value_schema_id', bytes(1)]])?.message ?? '',
    /named by the header __value_schema_id \(a GUID\): write the schema's id before the value instead/,
  );
});

test('message indexes are a count and zigzag varints; a single byte 0 stands for the first message', () => {
  for (const [indexes, written] of [
    [[0], bytes(0)],
    [[1], bytes(2, 2)],
    [[0, 0], bytes(4, 0, 0)],
    [[1, 0], bytes(4, 2, 0)],
    [[64], bytes(2, 0x80, 1)],
  ] as const) {
    assert.deepEqual(readMessageIndexes(Buffer.concat([bytes(7, 7), written, bytes(7)]), 2), {
      indexes: [...indexes],
      end: 2 + written.length,
    });
  }
  // Some clients write the full form for the first message, too.
  assert.deepEqual(readMessageIndexes(bytes(2, 0), 0), { indexes: [0], end: 2 });
});
