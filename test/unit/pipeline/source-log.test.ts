import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceRecord } from '../../../src/core/record.ts';
import { detached } from '../../../src/pipeline/source-log.ts';

test('a record that is kept holds nothing of the response that it came in, and is the same', () => {
  const response = Buffer.alloc(1_000_000, 'x');
  const record: SourceRecord = {
    partition: 1,
    offset: 2,
    timestampMs: 3,
    key: response.subarray(0, 10),
    value: response.subarray(10, 50_000),
    headers: { one: response.subarray(0, 5), many: [response.subarray(5, 9), 'text'], text: 'a', none: undefined },
  };
  const kept = detached(record);
  assert.deepEqual(kept, record);
  const { one, many } = kept.headers;
  for (const part of [kept.key, kept.value, one, many?.[0]] as Buffer[]) assert.notEqual(part.buffer, response.buffer);
  assert.deepEqual(detached({ ...record, key: null, value: null, headers: {} }).value, null);
});
