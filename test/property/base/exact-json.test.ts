import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mayLoseDigits } from '../../../src/base/json/exact-json.ts';

/** Every suspect is looked at, without a look at what the text has of them first. */
function mayLoseDigitsSlowly(text: string): boolean {
  const suspects =
    /[[:,\s](-?\d[\d.]{15,}(?:[eE][-+]?\d+)?|-?\d[\d.]*[eE][-+]?\d{3,}|-0(?:\.0*)?(?:[eE][-+]?\d+)?(?=[\s,\]}]))/g;
  return [...text.matchAll(suspects)].some(
    ([, literal = '']) => String(Number(literal)) !== literal,
  );
}

const digits = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789.'), maxLength });
const numberLike = fc
  .tuple(
    fc.constantFrom('', '-', '-0'),
    digits(40),
    fc.constantFrom('', 'e', 'E', 'e-', 'E+'),
    digits(5),
  )
  .map((parts) => parts.join(''));
const filling = fc.string({ unit: fc.constantFrom(...'ab e-.,:[]{}" 0'), maxLength: 40 });

test('a suspicious number is found in any text, wherever it stands', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(filling, fc.constantFrom('', ',', ':', '[', ' '), numberLike), {
        maxLength: 4,
      }),
      (parts) => {
        const text = parts.flat().join('');
        assert.equal(mayLoseDigits(text), mayLoseDigitsSlowly(text), text);
      },
    ),
    { numRuns: 3_000 },
  );
});

test('a run of sixteen digits is found at every place', () => {
  for (let before = 0; before < 70; before++) {
    for (const behind of [0, 1, 15, 16]) {
      const text = `${'a'.repeat(before)},9007199254740993${'a'.repeat(behind)}`;
      assert.equal(mayLoseDigits(text), true, text);
      assert.equal(mayLoseDigits(text.replace('3', '')), false, text);
    }
  }
});
