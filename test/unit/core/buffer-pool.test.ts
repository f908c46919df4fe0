import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool } from '../../../src/core/bytes/buffer-pool.ts';

test('a buffer that is kept is taken again, and one beyond the limit is freed at once', () => {
  const pool = new BufferPool(8 * 1024);
  const [first, second] = [pool.take(1), pool.take(1)];
  pool.give(first);
  pool.give(second);
  assert.equal(pool.take(1), first);
  assert.deepEqual([first.length, second.length], [8 * 1024, 0]);
  assert.deepEqual([pool.lentBytes, pool.idleBytes], [8 * 1024, 0]);
});
