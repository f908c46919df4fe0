import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detached } from '../../../src/core/detached.ts';
import type { SourceRecord } from '../../../src/core/record.ts';
import { originalOf } from '../../../src/tools/inspect/replay.ts';
import { headerList } from '../../support/records/headers.ts';

test('a detached record equals the original, but does not share memory with the response', () => {
  const response = Buffer.alloc(1_000_000, 'x');
  const record: SourceRecord = {
    partition: 1,
    offset: 2,
    timestampMs: 3,
    key: response.subarray(0, 10),
    value: response.subarray(10, 50_000),
    headers: headerList({
      one: response.subarray(0, 5),
      many: [response.subarray(5, 9), null, 'text'],
      toString: 'a',
      none: null,
    }),
  };
  const kept = detached(record);
  assert.deepEqual(kept, record);
  const original = originalOf(record);
  const parts = [
    kept.key,
    kept.value,
    original.key,
    original.value,
    ...kept.headers.map(([, value]) => value),
  ].filter((part): part is Buffer => part instanceof Buffer);
  assert.equal(parts.length, 6);
  for (const part of parts) assert.notEqual(part.buffer, response.buffer);
  assert.deepEqual(detached({ ...record, key: null, value: null, headers: [] }).value, null);
});
