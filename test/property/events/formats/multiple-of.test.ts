import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isMultipleOf } from '../../../../src/events/formats/json-schema/keywords.ts';

const number = fc.double({ noNaN: true, noDefaultInfinity: true });

test('a decimal is a multiple of another when the whole numbers of its smallest digit are', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1 }), fc.nat(9), (value, factor, scale) => {
      const decimal = (unscaled: number) => Number(`${unscaled}e-${scale}`);
      assert.equal(isMultipleOf(decimal(value), decimal(factor)), value % factor === 0);
    }),
  );
});

test('every number is a multiple of itself and, when it is whole, of 1; and none is refused with an exception', () => {
  fc.assert(
    fc.property(number, number, (value, factor) => {
      isMultipleOf(value, Math.abs(factor) || 1);
      if (value !== 0) assert.ok(isMultipleOf(value, Math.abs(value)));
      assert.equal(isMultipleOf(value, 1), Number.isInteger(value));
    }),
  );
});
