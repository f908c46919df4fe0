import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { floatJson, timestampText } from '../../../../src/events/formats/binary-values.ts';

test('a timestamp is what Date makes of it, while Date can, and the same as a number and as a bigint', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -8_640_000_000_000_000, max: 8_640_000_000_000_000 }),
      (millis) => {
        const text = `${timestampText(millis, 3)}Z`;
        assert.equal(text, new Date(millis).toISOString());
        assert.equal(`${timestampText(BigInt(millis), 3)}Z`, text);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('finer units have the same date and more digits', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.constantFrom(6, 9), (units, digits) => {
      assert.equal(timestampText(units, digits), timestampText(BigInt(units), digits));
      const coarse = timestampText(Math.floor(units / 10 ** (digits - 3)), 3);
      assert.equal(timestampText(units, digits).slice(0, coarse.length), coarse);
    }),
    { numRuns: 1_000 },
  );
});

test('a float is the number with the fewest digits that is this float and no other', () => {
  fc.assert(
    fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (value) => {
      fc.pre(value !== 0);
      let digits = 1;
      while (Math.fround(Number(value.toPrecision(digits))) !== value) digits++;
      assert.equal(floatJson(value), String(Number(value.toPrecision(digits))));
    }),
    { numRuns: 1_000 },
  );
});
