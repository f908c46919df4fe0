import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BufferPool } from '../../../src/core/bytes/buffer-pool.ts';
import { Slabs } from '../../../src/core/bytes/slabs.ts';

const part = fc.oneof(
  { weight: 8, arbitrary: fc.nat({ max: 3_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100_000, max: 300_000 }) },
);
const row = fc.record({ parts: fc.array(part, { maxLength: 4 }), dropped: fc.boolean() });

/** Writes `size` bytes of a value, after reserving more room than that. */
function write(slabs: Slabs, size: number, value: number): void {
  slabs.room(size + 7);
  slabs.buffer.fill(value, slabs.at, slabs.at + size);
  slabs.at += size;
}

test('a body contains the finished rows in order across slabs, and every buffer is returned', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40, size: 'max' }), (rows) => {
      const pool = new BufferPool(1024 * 1024);
      const slabs = new Slabs(pool);
      const kept: Buffer[] = [];
      for (const [index, { parts, dropped }] of rows.entries()) {
        for (const size of parts) write(slabs, size, index);
        if (dropped) {
          slabs.dropRow();
          continue;
        }
        kept.push(Buffer.alloc(slabs.at - slabs.rowStart, index));
        slabs.endRow();
        assert.equal(slabs.heldBytes, pool.lentBytes);
      }
      // Begins a row that is never ended.
      write(slabs, 10, 255);
      const expected = Buffer.concat(kept);
      assert.equal(slabs.length, expected.length);
      assert.ok(Buffer.concat(slabs.written()).equals(expected));
      const { body, heldBytes, release } = slabs.body();
      assert.ok(body.equals(expected));
      assert.deepEqual([slabs.heldBytes, pool.lentBytes], [0, heldBytes]);
      release();
      release();
      slabs.release();
      assert.equal(pool.lentBytes, 0);
    }),
    { numRuns: 100 },
  );
});

test('one short row takes 8 KiB, and many rows take little more than twice their bytes', () => {
  const pool = new BufferPool(0);
  const slabs = new Slabs(pool);
  write(slabs, 100, 1);
  slabs.endRow();
  assert.equal(slabs.heldBytes, 8 * 1024);
  for (let i = 0; i < 20_000; i++) {
    write(slabs, 100, 1);
    slabs.endRow();
    assert.ok(
      slabs.heldBytes <= Math.max(8 * 1024, 2.2 * slabs.length),
      `${slabs.heldBytes} for ${slabs.length}`,
    );
  }
  assert.ok(slabs.written().length < 30);
});
