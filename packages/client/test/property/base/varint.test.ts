import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readUnsigned, varintSize, writeUnsigned, writeVarint } from '../../../src/base/varint.ts';

/** Numbers of all magnitudes, equally many per power of two. */
const unsigned = fc
  .tuple(fc.maxSafeNat(), fc.nat(53))
  .map(([value, shift]) => Math.floor(value / 2 ** shift));

test('numbers are read as written, and take no more bytes than they need', () => {
  fc.assert(
    fc.property(unsigned, fc.nat(3), (value, start) => {
      const bytes = Buffer.alloc(start + 8);
      const end = writeUnsigned(bytes, value, start);
      const cursor = { at: start };
      assert.equal(readUnsigned(bytes, cursor), value);
      assert.equal(cursor.at, end);
      assert.equal(end - start, Math.max(1, Math.ceil(value.toString(2).length / 7)));
    }),
    { numRuns: 2_000, examples: [2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 53 - 1].map((n) => [n, 0]) },
  );
});

test('the size of a zigzag number is the number of bytes that are written', () => {
  fc.assert(
    fc.property(unsigned, fc.boolean(), (value, isNegative) => {
      const number = Math.floor(value / 2) * (isNegative ? -1 : 1);
      assert.equal(writeVarint(Buffer.alloc(8), number, 0), varintSize(number));
    }),
    { numRuns: 2_000 },
  );
});

test('any bytes are read as a safe integer or rejected', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 12 }),
    fc.uint8Array({ min: 0x80, maxLength: 400, size: 'max' }),
    // Each byte is a zero with a continuation bit.
    fc
      .tuple(fc.nat(400), fc.nat(0x7f))
      .map(([length, last]) => Uint8Array.from([...Array(length).fill(0x80), last])),
  );
  fc.assert(
    fc.property(bytes, (some) => {
      const cursor = { at: 0 };
      try {
        assert.ok(Number.isSafeInteger(readUnsigned(some, cursor)));
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
      assert.ok(cursor.at <= some.length + 1);
    }),
    { numRuns: 1_000 },
  );
});
