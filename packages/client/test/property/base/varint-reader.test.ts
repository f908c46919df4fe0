import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { VarintReader } from '../../../src/base/varint.ts';

/** Integers of any size, with as many at each power of two as between them. */
const int64 = fc
  .tuple(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.nat(63))
  .map(([value, shift]) => value >> BigInt(shift));

function zigzagOf(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

test('an int64 is read exactly as a bigint, and as a number up to 2^53', () => {
  fc.assert(
    fc.property(int64, (value) => {
      const bytes = zigzagOf(value);
      const reader = new VarintReader();
      reader.reset(bytes, 0, bytes.length);
      const read = reader.varlong();

      assert.equal(reader.left, 0);
      assert.equal(reader.exactVarlong(0), value);
      if (Number.isSafeInteger(Number(value)) || Number.isSafeInteger(read))
        assert.equal(read, Number(value));
      // Rounded twice at most: once per operation beyond 2^53.
      else assert.ok(Math.abs(read / Number(value) - 1) < 2 ** -51);
    }),
    {
      numRuns: 2_000,
      examples: [[-4641257141722826n], [-(2n ** 63n)], [2n ** 63n - 1n], [-1n], [0n]],
    },
  );
});
