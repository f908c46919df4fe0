import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransactionError, type TransactionFailure } from '../../../src/core/ports/kafka.ts';
import { ChunkMemory } from '../../../src/pipeline/chunk-memory.ts';

const records = (count: number) => Array.from({ length: count }, (_, offset) => ({ partition: 2, offset }));
const failure = (kind: TransactionFailure) => new TransactionError(kind, 'no');

test('a failed transaction halves the next ones, down to a single record; each success doubles them up to the maximum', () => {
  const chunk = new ChunkMemory(100);
  const sizes: number[] = [chunk.rows];
  for (const size of [100, 50, 25, 12, 6, 3, 1, 1]) {
    chunk.failed(records(size), failure('fenced'));
    sizes.push(chunk.rows);
  }
  assert.deepEqual(sizes, [100, 50, 25, 12, 6, 3, 1, 1, 1]);
  for (let n = 0; n < 8; n++) chunk.succeeded();
  assert.equal(chunk.rows, 100);
});

test('a transaction smaller than the limit that fails is halved too', () => {
  const chunk = new ChunkMemory(1000);
  chunk.failed(records(10), failure('fenced'));
  assert.equal(chunk.rows, 5);
});

test('only a record that Kafka refused alone, for good, counts as too large', () => {
  const chunk = new ChunkMemory(10);
  const [one] = records(1);
  assert.ok(one);
  for (const kind of ['fenced', 'unknown', 'aborted'] as const) chunk.failed([one], failure(kind));
  chunk.failed([one], new Error('rejected'));
  chunk.failed(records(2), failure('rejected'));
  assert.equal(chunk.isOversized(one), false);
  chunk.failed([one], failure('rejected'));
  assert.equal(chunk.isOversized(one), true);
  assert.equal(chunk.isOversized({ partition: 2, offset: 1 }), false);
  assert.equal(chunk.isOversized({ partition: 0, offset: 0 }), false);
});
