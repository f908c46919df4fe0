import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { partitionOf } from '../../../../dev/kafka/partitioner.ts';
import { EncodedRecords } from '../../../../src/core/bytes/encoded-records.ts';
import type { PlannedBatch } from '../../../../src/kafka/producer/outgoing-batch.ts';
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
const rowsOf = (plan: readonly PlannedBatch[]) => plan.flatMap(({ rows }) => [...rows]);
const counts = (plan: readonly PlannedBatch[]) =>
  plan.map(({ partition, rows }) => [partition, rows.length]);

describe('sends of a transaction', () => {
  it('go to one partition each, in ascending order, chosen by key', () => {
    const records = numbered(500, (n) => `key-${n}`);
    const plan = planBatches(records, 8, 0);
    assert.deepEqual(
      plan.map(({ partition }) => partition),
      [0, 1, 2, 3, 4, 5, 6, 7],
    );
    for (const { partition, rows } of plan) {
      for (const row of rows) assert.equal(partitionOf(`key-${row}`, 8), partition);
    }
  });

  it('are refused for a topic without partitions, where records would be lost', () => {
    assert.throws(() => planBatches(numbered(2, String), 0, Number.NaN), /has no partitions/);
  });

  it('carry every record once, in order within its partition', () => {
    const records = numbered(300, (n) => `key-${n % 9}`);
    const plan = planBatches(records, 4, 0, 300);
    assert.deepEqual(
      rowsOf(plan).sort((a, b) => a - b),
      Array.from({ length: 300 }, (_, n) => n),
    );
    for (const [, batches] of Map.groupBy(plan, ({ partition }) => partition)) {
      assert.ok(batches.length > 1);
      assert.deepEqual(
        rowsOf(batches),
        rowsOf(batches).sort((a, b) => a - b),
      );
    }
  });

  it('take no partition where no record goes', () => {
    assert.deepEqual(
      counts(
        planBatches(
          numbered(3, () => 'the same'),
          50,
          0,
        ),
      ),
      [[partitionOf('the same', 50), 3]],
    );
    assert.deepEqual(planBatches(new EncodedRecords(), 3, 0), []);
    assert.deepEqual(planBatchesTo(2, new EncodedRecords()), []);
  });

  it('put all records without a key into the partition chosen for this transaction, and those with an empty one where it belongs', () => {
    assert.deepEqual(
      counts(
        planBatches(
          numbered(3, () => null),
          6,
          4,
        ),
      ),
      [[4, 3]],
    );
    assert.deepEqual(
      counts(
        planBatches(
          numbered(3, () => ''),
          6,
          4,
        ),
      ),
      [[partitionOf('', 6), 3]],
    );
    assert.notEqual(partitionOf('', 6), 4);
  });

  it('are as large as the limit allows, and no larger', () => {
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

  it('fit into batches that their topic takes, and are no larger where it takes more or its limit is not known', () => {
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

  it('carry a record larger than the limit alone', () => {
    const sizes = [10, 2_000_000, 10, 10];
    const plan = planBatchesTo(
      3,
      EncodedRecords.of(sizes.map((size) => ({ key: 'k', value: Buffer.alloc(size) }))),
    );
    assert.deepEqual(counts(plan), [
      [3, 1],
      [3, 1],
      [3, 2],
    ]);
  });
});
