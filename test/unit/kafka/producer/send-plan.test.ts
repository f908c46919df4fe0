import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EncodedRecords } from '../../../../src/core/bytes/encoded-records.ts';
import {
  MAX_SEND_BYTES,
  planBatches,
  planBatchesTo,
  sendBytesFor,
} from '../../../../src/kafka/producer/send-plan.ts';

const numbered = (count: number, key: (n: number) => string | null, value = 'x') =>
  EncodedRecords.of(
    Array.from({ length: count }, (_, n) => ({ key: key(n), value: `${n} ${value}` })),
  );

describe('sends of a transaction', () => {
  it('are refused for a topic without partitions, because records would be lost', () => {
    assert.throws(() => planBatches(numbered(2, String), 0, Number.NaN), /has no partitions/);
  });

  it('are as large as the limit allows', () => {
    const records = numbered(1_000, () => 'k', 'x'.repeat(600));
    const [first, second] = planBatchesTo(0, records, 100_000);
    assert.ok(first !== undefined && second !== undefined && first.bytes <= 100_000);
    const next = first.rows.length;
    assert.deepEqual([...second.rows.slice(0, 1)], [next]);
    const [exact] = planBatchesTo(0, records, first.bytes);
    assert.deepEqual(exact, first);
    const [less] = planBatchesTo(0, records, first.bytes - 1);
    assert.equal(less?.rows.length, next - 1);
    const all = planBatchesTo(0, records);
    assert.ok(all.every(({ bytes }) => bytes <= MAX_SEND_BYTES));
    assert.equal(all.length, 1);
  });

  it('respect the batch limit of their topic if it is known and smaller than the default', () => {
    const bytes = [100_000, 1, 10_000_000, 0, Number.NaN, undefined].map(sendBytesFor);
    assert.deepEqual(bytes, [
      100_000,
      1,
      MAX_SEND_BYTES,
      MAX_SEND_BYTES,
      MAX_SEND_BYTES,
      MAX_SEND_BYTES,
    ]);
  });
});
